// What the browser's own statistics say about the line (W3C webrtc-stats). Pure.

/**
 * @typedef {object} Buffered Running totals of the jitter buffer.
 * @property {number} delay_s Summed over all samples played.
 * @property {number} samples
 */

/**
 * Round trip, jitter buffer since the last reading, and whether a relay is in the path.
 * @param {Iterable<any>} report Values of an RTCStatsReport.
 * @param {Buffered} before
 * @returns {{stats: {rtt_ms: number | null, jitter_buffer_ms: number | null, relayed: boolean | null}, buffered: Buffered}}
 */
export function readStats(report, before) {
  const all = [...report];
  const byId = new Map(all.map((entry) => [entry.id, entry]));
  const selected = byId.get(
    all.find((entry) => entry.type === "transport")?.selectedCandidatePairId,
  );
  // Firefox has no transport report and marks the pair itself.
  const pair = selected ?? all.find((entry) => entry.type === "candidate-pair" && entry.selected);
  const inbound = all.find((entry) => entry.type === "inbound-rtp" && entry.kind === "audio");
  const buffered = {
    delay_s: inbound?.jitterBufferDelay ?? 0,
    samples: inbound?.jitterBufferEmittedCount ?? 0,
  };
  const samples = buffered.samples - before.samples;
  const rtt_s = pair?.currentRoundTripTime;
  return {
    buffered,
    stats: {
      rtt_ms: rtt_s === undefined ? null : rtt_s * 1000,
      jitter_buffer_ms: samples > 0 ? ((buffered.delay_s - before.delay_s) / samples) * 1000 : null,
      relayed: pair
        ? isRelayed(byId.get(pair.localCandidateId), byId.get(pair.remoteCandidateId))
        : null,
    },
  };
}

/** @param {any} local @param {any} remote */
function isRelayed(local, remote) {
  return local?.candidateType === "relay" || remote?.candidateType === "relay";
}
