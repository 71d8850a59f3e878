// The microphone: asks for it, follows it when it is unplugged, and sends silence when there is none.

/**
 * @typedef {{kind: "unknown" | "open" | "none" | "denied" | "missing" | "busy" | "insecure" | "gone"}} MicState
 *   none: not asked for, the user types. gone: unplugged in mid-call and no other left.
 */

const SOUND = { echoCancellation: true, noiseSuppression: true, autoGainControl: true };

/** @type {Record<string, MicState["kind"]>} */
const KINDS = {
  NotAllowedError: "denied",
  SecurityError: "denied",
  NotFoundError: "missing",
  OverconstrainedError: "missing",
  NotReadableError: "busy",
  AbortError: "busy",
};

/**
 * What an error of getUserMedia means.
 * @param {unknown} error
 * @returns {MicState["kind"]}
 */
export function micProblem(error) {
  return (error instanceof Error && KINDS[error.name]) || "busy";
}

/** One microphone at a time, or silence; `onTrack` says what to send from now on. */
export class Microphone {
  /**
   * @param {AudioContext} context Makes the silence.
   * @param {(track: MediaStreamTrack) => void} onTrack
   * @param {(state: MicState) => void} onState
   * @param {(devices: MediaDeviceInfo[], usedId: string) => void} onDevices
   */
  constructor(context, onTrack, onState, onDevices) {
    this.silence = context.createMediaStreamDestination().stream.getAudioTracks()[0];
    this.track = this.silence;
    this.wantedId = "";
    this.muted = false;
    this.wentAway = false;
    this.onTrack = onTrack;
    this.onState = onState;
    this.onDevices = onDevices;
    navigator.mediaDevices?.addEventListener("devicechange", () => this.devicesChanged());
  }

  /**
   * Ask for the wanted device, else for any. Never rejects: problems go to `onState`.
   * @param {MicState["kind"]} [ifMissing]
   */
  async open(ifMissing = "missing") {
    if (!navigator.mediaDevices?.getUserMedia) return this.use(this.silence, "insecure");
    try {
      const stream = await this.ask();
      this.use(stream.getAudioTracks()[0], "open");
      await this.listDevices();
    } catch (error) {
      const kind = micProblem(error);
      this.use(this.silence, kind === "missing" ? ifMissing : kind);
    }
  }

  /** Chromium takes a deviceId that is merely "ideal" for the default device. */
  async ask() {
    const ask = (/** @type {MediaTrackConstraints} */ device) =>
      navigator.mediaDevices.getUserMedia({ audio: { ...SOUND, ...device } });
    if (!this.wantedId) return ask({});
    try {
      return await ask({ deviceId: { exact: this.wantedId } });
    } catch (error) {
      if (micProblem(error) !== "missing") throw error;
      return ask({});
    }
  }

  /** @param {string} deviceId */
  async choose(deviceId) {
    this.wantedId = deviceId;
    if (this.isOpen) await this.open();
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.muted = muted;
    if (this.isOpen) this.track.enabled = !muted;
  }

  close() {
    if (this.isOpen) this.track.stop();
    this.track = this.silence;
    this.wentAway = false;
  }

  get isOpen() {
    return this.track !== this.silence;
  }

  /** @param {MediaStreamTrack} track @param {MicState["kind"]} kind */
  use(track, kind) {
    if (this.isOpen) this.track.stop();
    this.track = track;
    this.wentAway = kind === "gone";
    track.enabled = !(this.muted && this.isOpen);
    track.onended = () => this.open("gone");
    this.onTrack(track);
    this.onState({ kind });
  }

  /** A device came or went: the wanted one may be back, and one may do where there was none. */
  async devicesChanged() {
    const devices = await this.listDevices();
    const usedId = this.track.getSettings().deviceId;
    const wantedIsBack =
      this.isOpen && this.wantedId !== usedId && devices.some((d) => d.deviceId === this.wantedId);
    const oneCameBack = this.wentAway && devices.length > 0;
    if (wantedIsBack || oneCameBack) await this.open("gone");
  }

  async listDevices() {
    const devices = await navigator.mediaDevices.enumerateDevices();
    const inputs = devices.filter((device) => device.kind === "audioinput" && device.deviceId);
    this.onDevices(inputs, this.track.getSettings().deviceId ?? "");
    return inputs;
  }
}
