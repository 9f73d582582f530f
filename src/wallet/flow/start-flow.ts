import { createClient } from '../../sdk/client.ts';
import { systemEnvironment } from '../../sdk/environment.ts';
import type { Deal } from '../deal.ts';
import { findGround } from '../keep/find-ground.ts';
import { createKeep } from '../keep/local-keep.ts';
import { createScreen } from '../show/create-screen.ts';
import { watchWallets } from '../wallets/watch-wallets.ts';
import { createBrowserEnvironment } from './browser-environment.ts';
import { pursue } from './pursue.ts';
import { held, resumeFlow } from './resume.ts';
import type { Scene } from './scene.ts';

/** The page comes to life: from here on it says where the purchase stands. */
export async function startFlow(root: HTMLElement, deal: Deal): Promise<void> {
  const { now } = systemEnvironment;
  const screen = createScreen(root, deal, now);
  const ground = findGround();
  if (typeof ground === 'string') {
    screen.show({ kind: 'unsafe', missing: ground });
    return;
  }
  const keep = createKeep(ground.shelf, deal.id);
  const asked = { isCollecting: false };
  const environment = createBrowserEnvironment({
    onAsked: (isCollecting) => {
      asked.isCollecting = isCollecting;
    },
    onHeard: (isHeard) => noteSilence(scene, isHeard),
  });
  let isResuming = false;
  const scene: Scene = {
    ...{ deal, keep, screen, asked, now },
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
    goOn: (payer, allowed) => held(scene, () => pursue(scene, payer, allowed)),
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
