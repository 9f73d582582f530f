import { MarketError, UnreadableAnswer } from '../../sdk/errors.ts';
import { type DeliveredGoods, downloadGoods } from '../../sdk/goods/download.ts';
import { ArtifactMismatch } from '../../sdk/payments/artifact-commitment.ts';
import { safeFileName } from '../show/file-name.ts';
import type { FileState, GoodsView } from '../show/view.ts';
import { explain } from './explain.ts';
import { type FileTarget, openFileTarget } from './file-target.ts';
import type { Scene } from './scene.ts';

/** Time without a byte after which a connection counts as broken. */
const IDLE_MS = 30_000;

/** Shows goods that are a file, and saves them when the user asks. They are checked while they arrive. */
export function offerFile(scene: Scene, view: Omit<GoodsView, 'file'>): void {
  const stop = new AbortController();
  const forget = (): void => {
    stop.abort();
    view.forget();
  };
  const collect = (): void => void scene.resume(true);
  const showState = (state: FileState, computed: string | null = null): void => {
    if (stop.signal.aborted) return;
    scene.screen.show({ ...view, computed, forget, file: { state, save, collect } }, true);
  };
  const save = (): void => void saveFile({ scene, view, signal: stop.signal, showState });
  showState({ kind: 'offered' });
}

interface Saving {
  scene: Pick<Scene, 'client'>;
  view: Pick<GoodsView, 'delivery' | 'record' | 'published'>;
  signal: AbortSignal;
  /** `computed` is the commitment of the saved bytes, once all have arrived. */
  showState(state: FileState, computed?: string): void;
}

export async function saveFile(saving: Saving): Promise<void> {
  const { delivery, published } = saving.view;
  const { filename = null, media_type = '' } = delivery.download ?? {};
  let target: FileTarget | null = null;
  try {
    target = await openFileTarget(safeFileName(filename, delivery.listing_id, media_type));
    if (target === null) return;
    const computed = await receiveFile(saving, target);
    const address = await target.keep();
    saving.showState({ kind: 'saved', address }, computed);
    if (address !== null && computed === published) document.getElementById('save')?.click();
  } catch (error) {
    await target?.discard();
    saving.showState(describeStop(error));
  }
}

/** Returns the commitment of what was received. The user keeps other bytes than the promised ones, as evidence. */
async function receiveFile(saving: Saving, target: FileTarget): Promise<string> {
  const { scene, view, signal, showState } = saving;
  const { baseUrl, environment } = scene.client;
  let percent = 0;
  const showPercent = (): void => showState({ kind: 'saving', words: `Saving: ${percent} %` });
  const sleep: typeof environment.sleep = (ms, until) => {
    showState({ kind: 'saving', words: `The connection broke at ${percent} %. It is tried again by itself.` });
    return environment.sleep(ms, until);
  };
  showPercent();
  const link = {
    ...{ baseUrl, key: undefined, timeoutMs: IDLE_MS },
    environment: { ...environment, sleep },
  };
  const onProgress = ({ received, bytes }: { received: number; bytes: number }): void => {
    const next = Math.floor((received / bytes) * 100);
    if (next === percent) return;
    percent = next;
    showPercent();
  };
  try {
    await downloadGoods(link, withToken(view), view.published, { to: target.write, onProgress, signal });
    return view.published;
  } catch (error) {
    if (error instanceof ArtifactMismatch) return error.actual;
    throw error;
  }
}

/** Adds the token that this browser keeps. A token that came with the goods comes first. */
function withToken({ delivery, record }: Saving['view']): DeliveredGoods {
  const token = delivery.delivery_token ?? record?.token ?? null;
  return token === null ? delivery : { ...delivery, delivery_token: token };
}

function describeStop(error: unknown): FileState {
  const say = (words: string, mustCollect = false): FileState => ({ kind: 'stopped', words, mustCollect });
  if (error instanceof MarketError && ['sign_to_collect', 'nothing_to_collect'].includes(error.reason)) {
    return say('The permission to save this file has run out. Collect again for a new one: nothing is paid.', true);
  }
  if (error instanceof UnreadableAnswer) return say('The connection broke. Save again: nothing is paid.');
  if (error instanceof MarketError) {
    const { title, what, todo } = explain(error, { hasProof: false, isPaid: false, hasEnded: false, until: null });
    return say(`${what === '' ? `${title}.` : what} ${todo}`);
  }
  const why = error instanceof Error ? error.message.replace(/[.\s]+$/, '') : 'no reason given';
  return say(`The file could not be written: ${why}. Save again: nothing is paid.`);
}
