import assert from "node:assert/strict";
import { test } from "node:test";
import { iceCredentials, sdpFragment, withOpusFec } from "../../web/sdpfrag.js";

const sdp = [
  "v=0",
  "a=ice-ufrag:EsAw",
  "a=ice-pwd:P2uY",
  "a=mid:0",
  "a=rtpmap:111 opus/48000/2",
  "a=fmtp:111 minptime=10",
  "",
].join("\r\n");

test("a fragment carries credentials, mid and candidates as RFC 8840 writes them", () => {
  const fragment = sdpFragment({
    ...iceCredentials(sdp),
    candidates: ["candidate:1 1 udp 1 192.0.2.1 9 typ host"],
    end: true,
  });
  assert.equal(
    fragment,
    "a=ice-ufrag:EsAw\r\na=ice-pwd:P2uY\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n" +
      "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\na=end-of-candidates\r\n",
  );
});

test("Opus is offered with in-band FEC, whatever the browser wrote", () => {
  assert.equal(withOpusFec(sdp), sdp.replace("minptime=10", "minptime=10;useinbandfec=1"));
  assert.equal(withOpusFec(withOpusFec(sdp)), withOpusFec(sdp));
  const bare = sdp.replace("a=fmtp:111 minptime=10\r\n", "");
  assert.equal(withOpusFec(bare), `${bare}a=fmtp:111 useinbandfec=1\r\n`);
  assert.equal(withOpusFec("v=0\r\n"), "v=0\r\n");
});
