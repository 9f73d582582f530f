import { config } from 'zod';
import { createClient } from '../sdk/client.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import { payAndCollect } from './flow/pay.ts';
import { held, resumeFlow } from './flow/resume.ts';
import type { Scene } from './flow/scene.ts';
import { type Offer, readOffer } from './offer.ts';
import { createScreen } from './show/create-screen.ts';
import { createKeep, findStorage } from './storage.ts';
import { watchWallets } from './wallet-announcements.ts';

/** The page comes to life: from here on it says where the purchase stands. */
async function startFlow(root: HTMLElement, offer: Offer): Promise<void> {
  const { now } = systemEnvironment;
  const screen = createScreen(root, offer, now);
  const ground = findStorage();
  if (typeof ground === 'string') {
    screen.show({ kind: 'unsafe', missing: ground });
    return;
  }
  const keep = createKeep(ground.shelf, offer.id);
  const asked = { isCollecting: false };
  const environment = createBrowserEnvironment({
    onAsked: (isCollecting) => {
      asked.isCollecting = isCollecting;
    },
    onHeard: (isHeard) => noteSilence(scene, isHeard),
  });
  let isResuming = false;
  const scene: Scene = {
    ...{ offer, keep, screen, asked, now },
    locks: ground.locks,
    client: createClient({ baseUrl: location.origin, environment }),
    wallets: watchWallets(),
    ...{ connected: null, isHolding: false, hasEnded: false },
    resume: async (isAct = false) => {
      if (isResuming || scene.isHolding) return;
      isResuming = true;
      try {
        await resumeFlow(scene, isAct);
      } finally {
        isResuming = false;
      }
    },
    goOn: (payer, allowed) => held(scene, () => payAndCollect(scene, payer, allowed)),
  };
  window.addEventListener('storage', ({ key }) => {
    if (key === null || key === keep.names.record || key === keep.names.proof) hear(scene);
  });
  await scene.resume();
}

/** Another tab has written. What it has in hand is shown here; what is on this tab's own screen stays. */
function hear({ keep, screen, resume }: Scene): void {
  const kind = screen.kind();
  if (kind === 'elsewhere') screen.show({ kind, record: keep.record() });
  if (kind === 'wallets' || kind === 'free' || kind === 'closed' || kind === 'sign_to_read') void resume();
}

function noteSilence({ keep, screen, now }: Scene, isHeard: boolean): void {
  const record = keep.record();
  if (record?.phase !== 'paying' || isHeard === (record.silent_since === null)) return;
  const next = { ...record, silent_since: isHeard ? null : now() };
  keep.write(next);
  if (screen.kind() === 'progress') screen.show({ kind: 'progress', record: next });
}

interface Heard {
  /** Before a request to buy: whether it only collects. */
  onAsked(isCollecting: boolean): void;
  /** Whether the market could be reached. */
  onHeard(isHeard: boolean): void;
}

/** The browser's own means. Requests carry no cookies and leave nothing in its cache, and waiting ends when the network comes back. */
function createBrowserEnvironment({ onAsked, onHeard }: Heard): Partial<Environment> {
  return {
    fetch: async (url, init) => {
      if (init.method === 'POST') onAsked(typeof init.body === 'string' && init.body.includes('"collect":true'));
      try {
        const answer = await systemEnvironment.fetch(url, { ...init, credentials: 'omit', cache: 'no-store' });
        onHeard(true);
        return answer;
      } catch (error) {
        onHeard(false);
        throw error;
      }
    },
    sleep: async (ms, signal) => {
      const back = new AbortController();
      const wake = (): void => back.abort();
      window.addEventListener('online', wake, { once: true });
      try {
        await systemEnvironment.sleep(ms, signal === undefined ? back.signal : AbortSignal.any([back.signal, signal]));
      } catch (error) {
        if (signal?.aborted === true) throw error;
      } finally {
        window.removeEventListener('online', wake);
      }
    },
  };
}

// Making code at run time is what the page's policy forbids, and trying it would be reported as an attack.
config({ jitless: true });

const root = document.getElementById('flow');
const told = root?.dataset['deal'];
if (root !== null && told !== undefined) void startFlow(root, readOffer(told));
