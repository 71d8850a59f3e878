import assert from "node:assert/strict";
import { test } from "node:test";
import { readStats } from "../../web/stats.js";

const report = (remoteType) => [
  { id: "T", type: "transport", selectedCandidatePairId: "P" },
  {
    id: "P",
    type: "candidate-pair",
    localCandidateId: "L",
    remoteCandidateId: "R",
    currentRoundTripTime: 0.024,
  },
  {
    id: "Q",
    type: "candidate-pair",
    localCandidateId: "X",
    remoteCandidateId: "R",
    currentRoundTripTime: 0.5,
  },
  { id: "L", type: "local-candidate", candidateType: "host" },
  { id: "X", type: "local-candidate", candidateType: "relay" },
  { id: "R", type: "remote-candidate", candidateType: remoteType },
  {
    id: "I",
    type: "inbound-rtp",
    kind: "audio",
    jitterBufferDelay: 6,
    jitterBufferEmittedCount: 100,
  },
];

test("the read-out tells the selected path's round trip and the jitter buffer of the last second", () => {
  const { stats, buffered } = readStats(report("host"), { delay_s: 4, samples: 50 });
  assert.deepEqual(stats, { rtt_ms: 24, jitter_buffer_ms: 40, relayed: false });
  assert.deepEqual(buffered, { delay_s: 6, samples: 100 });
});

test("a relay at either end is told", () => {
  assert.equal(readStats(report("relay"), { delay_s: 0, samples: 0 }).stats.relayed, true);
});

test("nothing is claimed before there is a path", () => {
  const { stats } = readStats([], { delay_s: 0, samples: 0 });
  assert.deepEqual(stats, { rtt_ms: null, jitter_buffer_ms: null, relayed: null });
});
