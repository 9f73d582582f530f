import { Refusal } from '../../../platform/refusal.ts';
import { startThread, type Thread } from '../../../platform/start-thread.ts';
import type { PictureQuestion } from './picture-question.ts';

export interface Painting {
  /** PNG. Refuses when too many wait already. */
  paint(question: PictureQuestion): Promise<Uint8Array>;
  stop(): Promise<void>;
}

export interface PaintingLimits {
  /** Of pictures that are kept in memory. */
  keptBytes: number;
  /** Pictures that are wanted and not ready. */
  mostWaiting: number;
}

const LIMITS: PaintingLimits = { keptBytes: 16_777_216, mostWaiting: 8 };
const PROGRAM = new URL('./paint-thread.ts', import.meta.url);
const RETRY_SECONDS = 2;

/**
 * Paints pictures in a thread of its own, one at a time, so that other requests do not wait for them. The thread begins with the first
 * picture; one that has failed is followed by another. Requests for the same picture at the same time share one painting.
 */
export function createPainting({ keptBytes, mostWaiting }: PaintingLimits = LIMITS): Painting {
  const kept = createKept(keptBytes);
  const open = new Map<string, Promise<Uint8Array>>();
  let thread: Thread<PictureQuestion, Uint8Array> | null = null;
  let isStopped = false;
  const ask = async (key: string, question: PictureQuestion): Promise<Uint8Array> => {
    thread ??= startThread<PictureQuestion, Uint8Array>(PROGRAM);
    const asked = thread;
    try {
      const picture = await asked.ask(question, []);
      kept.put(key, picture);
      return picture;
    } catch (error) {
      if (thread === asked) thread = null;
      throw error;
    } finally {
      open.delete(key);
    }
  };
  return {
    paint: async (question) => {
      const key = JSON.stringify(question);
      const ready = kept.get(key) ?? open.get(key);
      if (ready !== undefined) return await ready;
      if (isStopped || open.size >= mostWaiting) {
        throw new Refusal('unavailable', {
          detail: 'More pictures are wanted than can be painted just now.',
          retryAfterSeconds: RETRY_SECONDS,
        });
      }
      const asked = ask(key, question);
      open.set(key, asked);
      return await asked;
    },
    stop: async () => {
      isStopped = true;
      await thread?.stop();
    },
  };
}

/** Those that were asked for last. */
function createKept(mostBytes: number) {
  const pictures = new Map<string, Uint8Array>();
  let bytes = 0;
  const forget = (key: string): void => {
    bytes -= pictures.get(key)?.byteLength ?? 0;
    pictures.delete(key);
  };
  const put = (key: string, picture: Uint8Array): void => {
    forget(key);
    pictures.set(key, picture);
    bytes += picture.byteLength;
    for (const oldest of pictures.keys()) {
      if (bytes <= mostBytes) break;
      forget(oldest);
    }
  };
  return {
    get: (key: string): Uint8Array | undefined => {
      const picture = pictures.get(key);
      if (picture !== undefined) put(key, picture);
      return picture;
    },
    put,
  };
}
