"""`umigame bench media`: our media path beside stock aiortc's.

clicks.py    the sound that is sent, and finding it again: pure
caller.py    sends it over real WebRTC and times its return
host.py      the process that is called: our voice path (ours.py) or aiortc's own (stock.py)
crowd.py     more and more callers, until it is too many
browser.py   the same through Chromium, from its microphone to its decoder (browser.js)
lag.py       how late an event loop wakes up
    report.py    runs them all
"""
