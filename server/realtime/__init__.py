"""OpenAI's Realtime events, as they cross a call's data channel "oai-events".

Names and shapes are those of the GA interface (the Python SDK's `openai.types.realtime`); what
OpenAI has no name for is called `umigame.*`. One call's events, in order:

When the channel opens, again after each resume
    session.created, umigame.session {token, call_id}

While somebody speaks
    input_audio_buffer.speech_started {item_id, audio_start_ms}
    umigame.partial {item_id, text}            the whole text so far; it may be reworded
    input_audio_buffer.speech_stopped          started and stopped come again if they go on
When their turn is over
    input_audio_buffer.committed, conversation.item.added, conversation.item.done
    conversation.item.input_audio_transcription.delta      never takes anything back
    conversation.item.input_audio_transcription.completed, or .failed if the STT went down
or, when it was no speech after all, or nothing to answer ("mm-hm"), which may be found late
    input_audio_buffer.cleared (unless committed), conversation.item.deleted

For what was typed
    conversation.item.added, conversation.item.done        with input_text

When the assistant speaks
    response.created, response.output_item.added, conversation.item.added,
    response.content_part.added, output_audio_buffer.started
    response.output_audio_transcript.delta     a word as it leaves for the listener
When it has said all
    response.output_audio.done, response.output_audio_transcript.done,
    response.content_part.done, response.output_item.done, conversation.item.done,
    response.done (completed), output_audio_buffer.stopped
When it is cut off: the same with status incomplete, and in the end
    response.done (cancelled: turn_detected or client_cancelled), output_audio_buffer.cleared,
    conversation.item.truncated {audio_end_ms}; the transcript holds what was played

At any time
    session.updated                            what is in force, not what was asked for
    error                                      an event of the client could not be used (with its
                                               event_id), or the call ends for a reason
    umigame.oracle {epoch, source, prompt, text, final}    the whole answer so far
    umigame.timeline {entries: [{at_s, type, ...}]}        what happened when: timeline.py
    umigame.latency {rtt_ms, jitter_ms, server_ms, response_ms, concealed_pct, relayed}
                                               response_ms once a reply, null else
    umigame.queue {position, eta_s}
    umigame.service {service, up, message}
    umigame.overload {where, frames}
    umigame.ended                              the last event, after an error that says why

An item's `added` comes before anything else about it, but for input_audio_buffer.* and
umigame.partial, which announce it while its words are still being said.
"""
