// Carries out what the server says changes on the page. The server owns the HTML; this file owns nothing else.
// A hidden tab lets go of its connection (browsers allow six per site) and resumes after the last row it saw.
const byId = (id) => document.getElementById(id);
const OPS = {
  put(op) {
    const made = document.createElement("template");
    made.innerHTML = op.html;
    const fresh = made.content.firstElementChild, old = byId(op.id);
    if (!fresh) { old?.remove(); return; }
    if (old) { if (old.open !== undefined) fresh.open = old.dataset.touched ? old.open : fresh.open; old.replaceWith(fresh); }
    else byId(op.into)?.append(fresh);
  },
  text(op) { byId(op.id)?.append(op.text); },
  fold(op) { const it = byId(op.id); if (it && !it.dataset.touched) it.open = false; },
  mark(op) {
    const it = byId(op.id);
    if (!it) return;
    it.setAttribute("class", op.as);
    it.querySelector(".sub").textContent = op.text;
  },
  drop(op) { byId(op.id)?.remove(); },
};

export function apply(ops) {
  for (const op of ops) OPS[op.op]?.(op);
}

const QUIET = 40;

export function follow(url, { onBatch, onDone, onLost, onQuiet }) {
  let source = null, queue = [], frame = 0, last = null, finished = false, heard = Date.now();
  // A run that has died looks like one that thinks: it is said how long nothing was heard, and the page stays as it is.
  const patience = setInterval(() => {
    const seconds = Math.round((Date.now() - heard) / 1000);
    if (seconds >= QUIET && !document.hidden) onQuiet?.(seconds.toLocaleString(document.documentElement.lang));
  }, 5000);
  const flush = () => { frame = 0; const batch = queue; queue = []; apply(batch); onBatch?.(batch); };
  const close = () => { source?.close(); source = null; };
  const end = () => {
    finished = true;
    clearInterval(patience);
    close();
    document.removeEventListener("visibilitychange", turn);
    if (frame) cancelAnimationFrame(frame);
    flush();
  };
  const open = () => {
    if (source || finished) return;
    const address = new URL(url, location.href);
    if (last !== null) address.searchParams.set("after", last);
    source = new EventSource(address);
    source.addEventListener("ops", (event) => {
      last = event.lastEventId;
      heard = Date.now();
      queue.push(...JSON.parse(event.data));
      frame ||= requestAnimationFrame(flush);
    });
    source.addEventListener("done", () => { end(); onDone?.(); });
    source.addEventListener("error", () => {
      if (source?.readyState === EventSource.CLOSED) { end(); onLost?.(); } // refused: the session is over
    });
  };
  const turn = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", turn);
  if (!document.hidden) open();
}
