// Times clicks from the microphone's track to the echo's: both as this page's own decoder
// and capturer hand them out, so that no sound device is in between.

const HEARD = 0.1;
const APART_MS = 250;

async function clicks(track, found) {
  const reader = new MediaStreamTrackProcessor({track}).readable.getReader();
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const arrived = performance.now();
    const samples = new Float32Array(value.numberOfFrames);
    value.copyTo(samples, {planeIndex: 0, format: "f32-planar"});
    const first = samples.findIndex(sample => Math.abs(sample) >= HEARD);
    const at = arrived - (samples.length - first) * 1000 / value.sampleRate;
    value.close();
    if (first >= 0 && at - (found.at(-1) ?? -APART_MS) >= APART_MS) found.push(at);
  }
}

// Gives [[times of clicks said], [times of clicks heard]] in milliseconds.
async function loop(settle_ms, measure_ms) {
  const audio = {echoCancellation: false, noiseSuppression: false, autoGainControl: false};
  const stream = await navigator.mediaDevices.getUserMedia({audio});
  const call = new RTCPeerConnection();
  const said = [], heard = [];
  const echo = new Promise(resolve => { call.ontrack = event => resolve(event.track); });
  stream.getTracks().forEach(track => call.addTrack(track, stream));
  await call.setLocalDescription();
  await new Promise(resolve => {
    if (call.iceGatheringState === "complete") resolve();
    call.onicegatheringstatechange = () => call.iceGatheringState === "complete" && resolve();
  });
  const answer = await fetch("/call", {method: "POST", body: call.localDescription.sdp});
  await call.setRemoteDescription({type: "answer", sdp: await answer.text()});
  const player = new Audio();
  player.srcObject = new MediaStream([await echo]);
  player.play();
  clicks(stream.getAudioTracks()[0], said);
  clicks(await echo, heard);
  await new Promise(resolve => setTimeout(resolve, settle_ms));
  const since = performance.now();
  await new Promise(resolve => setTimeout(resolve, measure_ms));
  call.close();
  return [said.filter(at => at >= since), heard];
}
