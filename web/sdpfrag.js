// Text of the session description protocol: what the page sends besides the browser's own offer.

/**
 * @typedef {object} Fragment
 * @property {string} ufrag
 * @property {string} pwd
 * @property {string} mid
 * @property {string[]} candidates As RTCIceCandidate.candidate: "candidate:…".
 * @property {boolean} end No more will come.
 */

/**
 * The body of a trickle PATCH, application/trickle-ice-sdpfrag (RFC 8840 section 9).
 * @param {Fragment} fragment
 */
export function sdpFragment({ ufrag, pwd, mid, candidates, end }) {
  const lines = [
    `a=ice-ufrag:${ufrag}`,
    `a=ice-pwd:${pwd}`,
    "m=audio 9 UDP/TLS/RTP/SAVPF 0",
    `a=mid:${mid}`,
    ...candidates.map((candidate) => `a=${candidate}`),
    ...(end ? ["a=end-of-candidates"] : []),
  ];
  return lines.map((line) => `${line}\r\n`).join("");
}

/**
 * ICE credentials and first mid of a description, which every fragment repeats.
 * @param {string} sdp
 * @returns {{ufrag: string, pwd: string, mid: string}}
 */
export function iceCredentials(sdp) {
  const value = (/** @type {string} */ name) =>
    sdp.match(new RegExp(`^a=${name}:(.*)$`, "m"))?.[1] ?? "";
  return { ufrag: value("ice-ufrag"), pwd: value("ice-pwd"), mid: value("mid") };
}

/**
 * The offer with in-band FEC asked for on Opus (RFC 7587 section 6.1), if the browser did not.
 * @param {string} sdp
 */
export function withOpusFec(sdp) {
  const type = sdp.match(/^a=rtpmap:(\d+) opus\/48000/im)?.[1];
  if (!type) return sdp;
  const fmtp = sdp.match(new RegExp(`^a=fmtp:${type} .*$`, "m"))?.[0];
  if (fmtp?.includes("useinbandfec=1")) return sdp;
  if (fmtp) return sdp.replace(fmtp, `${fmtp};useinbandfec=1`);
  return sdp.replace(
    new RegExp(`^a=rtpmap:${type} .*$`, "m"),
    `$&\r\na=fmtp:${type} useinbandfec=1`,
  );
}
