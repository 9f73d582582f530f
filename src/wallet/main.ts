import { config } from 'zod';
import { buyListing, getListing } from '../contract/listings.ts';
import { createClientOf } from '../sdk/client.ts';
import { type Environment, systemEnvironment } from '../sdk/environment.ts';
import { payAndCollect } from './flow/pay.ts';
import { resumeFlow, runUnderPurchaseLock } from './flow/resume.ts';
import type { Scene } from './flow/scene.ts';
import { type Offer, readOffer } from './offer.ts';
import { createScreen } from './show/create-screen.ts';
import { createPurchaseStore, findStorage } from './storage.ts';
import { watchWallets } from './wallet-announcements.ts';

/** Takes over the page, which then shows the state of the purchase. */
async function startFlow(root: HTMLElement, offer: Offer): Promise<void> {
  const { now } = systemEnvironment;
  const screen = createScreen(root, offer, now);
  const available = findStorage();
  if (typeof available === 'string') {
    screen.show({ kind: 'unsafe', missing: available });
    return;
  }
  const store = createPurchaseStore(available.shelf, offer.id);
  const lastRequest = { isCollecting: false };
  const environment = createBrowserEnvironment({
    onRequest: (isCollecting) => {
      lastRequest.isCollecting = isCollecting;
    },
    onAnswer: (isHeard) => recordSilence(scene, isHeard),
  });
  let isResuming = false;
  const scene: Scene = {
    ...{ offer, store, screen, lastRequest, now },
    locks: available.locks,
    // Without the other endpoints and uploads the script is much smaller.
    client: createClientOf({ buyListing, getListing }, { baseUrl: location.origin, environment }),
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
    goOn: (payer, allowed) => runUnderPurchaseLock(scene, () => payAndCollect(scene, payer, allowed)),
  };
  window.addEventListener('storage', ({ key }) => {
    if (key === null || key === store.names.record || key === store.names.proof) followOtherTab(scene);
  });
  await scene.resume();
}

/** Handles another tab's write. Shows its progress if this tab follows it, and resumes if this tab is idle. */
function followOtherTab({ store, screen, resume }: Scene): void {
  const kind = screen.kind();
  if (kind === 'elsewhere') screen.show({ kind, record: store.record() });
  if (kind === 'wallets' || kind === 'free' || kind === 'closed' || kind === 'sign_to_read') void resume();
}

function recordSilence({ store, screen, now }: Scene, isHeard: boolean): void {
  const record = store.record();
  if (record?.phase !== 'paying' || isHeard === (record.silent_since === null)) return;
  const next = { ...record, silent_since: isHeard ? null : now() };
  store.write(next);
  if (screen.kind() === 'progress') screen.show({ kind: 'progress', record: next });
}

interface RequestListeners {
  /** Called before a request to buy. `isCollecting` is true if the request only collects goods. */
  onRequest(isCollecting: boolean): void;
  /** Called after a request. `isHeard` is true if the market could be reached. */
  onAnswer(isHeard: boolean): void;
}

/** Creates the SDK's environment for a browser. Requests carry no cookies and are not cached. Waiting ends when the network is back. */
function createBrowserEnvironment({ onRequest, onAnswer }: RequestListeners): Partial<Environment> {
  return {
    fetch: async (url, init) => {
      if (init.method === 'POST') onRequest(typeof init.body === 'string' && init.body.includes('"collect":true'));
      try {
        const answer = await systemEnvironment.fetch(url, { ...init, credentials: 'omit', cache: 'no-store' });
        onAnswer(true);
        return answer;
      } catch (error) {
        onAnswer(false);
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

// The page's CSP forbids generated code, and an attempt would be reported as an attack.
config({ jitless: true });

const root = document.getElementById('flow');
const deal = root?.dataset['deal'];
if (root !== null && deal !== undefined) void startFlow(root, readOffer(deal));
