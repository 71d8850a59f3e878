// One attempt at a call: a peer connection, its data channel and its trickled candidates.

import { iceCredentials, sdpFragment, withOpusFec } from "./sdpfrag.js";

const CONNECT_ms = 10_000;
/** Chromium calls a path disconnected after some seconds of silence; it may yet heal. */
const HEAL_ms = 4_000;
const BATCH_ms = 50;

/** The path to the server could not be built in time. */
export class NoPath extends Error {
  /** @param {string} [relay] What relays said, or "". */
  constructor(relay = "") {
    super("no path");
    this.relay = relay;
  }
}

/** The line was up and went down. */
export class LineLost extends Error {}

/**
 * @typedef {object} Ends What a call reports while it lasts.
 * @property {(event: import("./events.js").Event) => void} onEvent
 * @property {(location: string) => void} onPlace The call's address, as soon as it has one.
 * @property {(stream: MediaStream) => void} onAudio The assistant's voice.
 * @property {(steady: boolean) => void} onSteady
 */

/**
 * @typedef {object} Call
 * @property {Promise<never>} lost Rejects with LineLost.
 * @property {RTCPeerConnection} pc
 * @property {(track: MediaStreamTrack) => Promise<void>} replaceTrack
 * @property {(event: object) => void} send
 */

/**
 * Call the server. Resolves when the data channel is open.
 * @param {import("./api.js").Api} api
 * @param {MediaStreamTrack} track
 * @param {object} session
 * @param {Ends} ends
 * @param {AbortSignal} signal Closes the connection, at any time.
 * @returns {Promise<Call>} Rejects with ApiError, NoPath, or an AbortError.
 */
export async function dial(api, track, session, ends, signal) {
  const ice = await api.ice(signal);
  // `?relay` at the end of the page's address tries out the relays.
  if (new URLSearchParams(location.search).has("relay")) ice.iceTransportPolicy = "relay";
  const pc = new RTCPeerConnection({ ...ice, bundlePolicy: "max-bundle" });
  const refusals = listenToRelays(pc);
  signal.addEventListener("abort", () => pc.close(), { once: true });
  const trickle = startTrickle(pc, api);
  try {
    const sender = pc.addTransceiver(track, { direction: "sendrecv" }).sender;
    pc.ontrack = ({ track: voice }) => ends.onAudio(new MediaStream([voice]));
    const channel = pc.createDataChannel("oai-events");
    channel.onmessage = ({ data }) => ends.onEvent(JSON.parse(data));
    const offer = await pc.createOffer();
    await pc.setLocalDescription({ type: "offer", sdp: withOpusFec(offer.sdp ?? "") });
    const { answer, location } = await api.openCall(
      pc.localDescription?.sdp ?? "",
      session,
      signal,
    );
    ends.onPlace(location);
    await pc.setRemoteDescription({ type: "answer", sdp: answer });
    trickle.begin(location);
    await opened(channel, pc, signal, refusals);
    return {
      pc,
      lost: lostLine(channel, pc, ends.onSteady),
      replaceTrack: (next) => sender.replaceTrack(next),
      send: (event) => channel.readyState === "open" && channel.send(JSON.stringify(event)),
    };
  } catch (error) {
    pc.close();
    throw error;
  }
}

/**
 * Candidates found before the call has an address wait for it; later ones go in small batches.
 * @param {RTCPeerConnection} pc @param {import("./api.js").Api} api
 */
function startTrickle(pc, api) {
  let location = "";
  /** @type {string[]} */
  let waiting = [];
  let end = false;
  let timer = 0;
  const flush = () => {
    timer = 0;
    if (!location || pc.signalingState === "closed" || (!waiting.length && !end)) return;
    const fragment = sdpFragment({
      ...iceCredentials(pc.localDescription?.sdp ?? ""),
      candidates: waiting,
      end,
    });
    waiting = [];
    end = false;
    // A lost PATCH is no harm while another candidate pair works; the connect timeout tells if none does.
    api.trickle(location, fragment).catch(() => {});
  };
  pc.onicecandidate = ({ candidate }) => {
    if (candidate?.candidate) waiting.push(candidate.candidate);
    else end = true;
    timer ||= window.setTimeout(flush, BATCH_ms);
  };
  return {
    /** @param {string} at */
    begin(at) {
      location = at;
      flush();
    },
  };
}

/**
 * What STUN and TURN servers complain of; it matters only if no path is found.
 * @param {RTCPeerConnection} pc
 * @returns {() => string}
 */
function listenToRelays(pc) {
  /** @type {Set<string>} */
  const said = new Set();
  pc.onicecandidateerror = ({ url, errorCode, errorText }) => {
    // 701 is the browser's own for "no answer" (W3C webrtc-pc), and many of those are harmless.
    if (url.startsWith("turn") && errorCode !== 701) said.add(`${url}: ${errorText} (${errorCode})`);
  };
  return () => [...said].join(", ");
}

/**
 * @param {RTCDataChannel} channel @param {RTCPeerConnection} pc @param {AbortSignal} signal
 * @param {() => string} refusals
 * @returns {Promise<void>}
 */
function opened(channel, pc, signal, refusals) {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new NoPath(refusals()));
    const timer = setTimeout(fail, CONNECT_ms);
    const settle = (/** @type {() => void} */ act) => () => {
      clearTimeout(timer);
      act();
    };
    channel.onopen = settle(resolve);
    channel.onclose = settle(fail);
    pc.onconnectionstatechange = () => {
      if (pc.connectionState === "failed") settle(fail)();
    };
    // Nothing to try a path with: relays only, and none would have us.
    const stuck = () =>
      pc.iceGatheringState === "complete" &&
      !pc.localDescription?.sdp.includes("a=candidate") &&
      settle(fail)();
    pc.onicegatheringstatechange = stuck;
    stuck();
    signal.addEventListener(
      "abort",
      settle(() => reject(signal.reason)),
      { once: true },
    );
  });
}

/**
 * @param {RTCDataChannel} channel @param {RTCPeerConnection} pc @param {Ends["onSteady"]} onSteady
 * @returns {Promise<never>}
 */
function lostLine(channel, pc, onSteady) {
  return new Promise((_, reject) => {
    let timer = 0;
    const lose = () => {
      clearTimeout(timer);
      pc.close();
      reject(new LineLost());
    };
    channel.onclose = lose;
    pc.onconnectionstatechange = () => {
      clearTimeout(timer);
      if (pc.connectionState === "failed") return lose();
      if (pc.connectionState === "disconnected") timer = window.setTimeout(lose, HEAL_ms);
      onSteady(pc.connectionState === "connected");
    };
  });
}
