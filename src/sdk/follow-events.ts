import type { z } from 'zod';
import { codeOut, handleOut } from '../contract/answer-forms.ts';
import { eventOut } from '../contract/merchants.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import type { EventKind, Scope } from '../contract/vocabulary.ts';
import type { Client } from './client.ts';
import { UnreadableAnswer } from './errors.ts';
import { parseJson } from './parse-json.ts';
import { readRefusal } from './read-answer.ts';

/** Accepts unknown kinds, because a newer market may have added some. */
const eventIn = eventOut.extend({ kind: codeOut, actor: handleOut });
export type FollowedEvent = z.output<typeof eventIn>;

const PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;
/** The market sends something every few seconds, at least a comment, so a longer silence means a dead connection. */
const SILENCE_MS = 60_000;
/** Far longer than any event. Limits the unfinished text that is kept in memory. */
const LONGEST_BLOCK = 65_536;

export interface FollowOptions {
  kind?: EventKind;
  scope?: Scope;
  /** Starts after this event, or with the first one if 0. Default: only new events. */
  after?: number;
  /** Aborting ends the iteration without throwing. */
  signal?: AbortSignal;
  /** `cut`: the connection ended, and the client reconnects after `pauseMs`. `open`: connected. */
  onState?(state: { kind: 'open' } | { kind: 'cut'; pauseMs: number }): void;
}

/**
 * Follows the public log by server-sent events, oldest first. Reconnects and continues after the last event, so none is missed or repeated.
 * Throws `MarketError` if the market refuses the query, and `UnreadableAnswer` if the first connection fails.
 */
export async function* followEvents(
  client: Client,
  options: FollowOptions = {},
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { environment } = client;
  const position = { last: options.after, everOpen: false };
  const isEnded = (): boolean => options.signal?.aborted === true;
  let pauseMs = PAUSE_MS;
  while (!isEnded()) {
    try {
      for await (const event of readOnce(client, options, position)) {
        pauseMs = PAUSE_MS;
        yield event;
      }
    } catch (error) {
      if (isEnded()) return;
      const waitSeconds = error instanceof UnreadableAnswer || isBusy(error) ? error.retryAfterSeconds : undefined;
      if (!position.everOpen || waitSeconds === undefined) throw error;
      pauseMs = Math.max(pauseMs, (waitSeconds ?? 0) * 1_000);
    }
    options.onState?.({ kind: 'cut', pauseMs });
    await environment.sleep(pauseMs, options.signal).catch(() => {});
    pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
  }
}

/** Whether the refusal is temporary, because of too many listeners or a fault. */
function isBusy(error: unknown): error is { retryAfterSeconds: number | null } {
  return error instanceof Error && 'status' in error && (error.status === 429 || Number(error.status) >= 500);
}

interface FollowPosition {
  last: number | undefined;
  everOpen: boolean;
}

async function* readOnce(
  client: Client,
  options: FollowOptions,
  position: FollowPosition,
): AsyncGenerator<FollowedEvent> {
  const { environment } = client;
  const ending = new AbortController();
  const stop = (): void => ending.abort();
  options.signal?.addEventListener('abort', stop, { once: true });
  try {
    const response = await openStream(client, options, position, ending.signal);
    position.everOpen = true;
    options.onState?.({ kind: 'open' });
    for await (const block of blocksOf(response, environment.deadline)) {
      const id = Number(block.get('id') ?? Number.NaN);
      const data = block.get('data');
      if (Number.isSafeInteger(id)) position.last = id;
      if (data !== undefined) yield readEvent(data);
    }
  } finally {
    options.signal?.removeEventListener('abort', stop);
    ending.abort();
  }
}

async function openStream(
  client: Client,
  { kind, scope }: FollowOptions,
  { last }: FollowPosition,
  signal: AbortSignal,
): Promise<Response> {
  const query = new URLSearchParams({
    ...(kind === undefined ? {} : { kind }),
    ...(scope === undefined ? {} : { scope }),
  });
  const headers: Record<string, string> = { accept: 'text/event-stream' };
  if (last !== undefined) headers['last-event-id'] = String(last);
  let response: Response;
  try {
    response = await client.environment.fetch(`${client.baseUrl}/api/events/stream?${query}`, {
      headers,
      signal,
      redirect: 'manual',
    });
  } catch (cause) {
    throw new UnreadableAnswer('no_answer', own`no answer came from ${ofOwner(client.baseUrl)}`, { cause });
  }
  const { status, headers: received } = response;
  if (status === 200 && /^text\/event-stream\b/i.test(received.get('content-type') ?? '')) return response;
  if (status >= 400) throw await readRefusal(response);
  await response.body?.cancel();
  throw new UnreadableAnswer('unexpected', own`status ${status} instead of an event stream`, {
    status,
    headers: received,
  });
}

/** Yields the fields of each block; an empty line ends a block. */
async function* blocksOf(
  response: Response,
  deadline: (ms: number) => AbortSignal,
): AsyncGenerator<Map<string, string>> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let last = '';
  try {
    for (;;) {
      const read = await readBeforeSilence(
        reader?.read() ?? Promise.resolve({ done: true as const, value: undefined }),
        deadline,
      );
      if (read.done) return;
      // Search only the new piece and its seam, because rescanning everything takes quadratic time for an event in many small pieces.
      const hasEnd = (last + read.value).includes('\n\n');
      last = read.value.at(-1) ?? last;
      text += read.value;
      if (!hasEnd && text.length <= LONGEST_BLOCK) continue;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      if (text.length > LONGEST_BLOCK) throw new UnreadableAnswer('too_large', own`an event is too long`);
      for (const block of blocks) yield fieldsOf(block);
    }
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

function readBeforeSilence<T>(reading: Promise<T>, deadline: (ms: number) => AbortSignal): Promise<T> {
  const silence = deadline(SILENCE_MS);
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(new UnreadableAnswer('no_answer', own`the stream fell silent`));
    silence.addEventListener('abort', stop, { once: true });
    reading.then(resolve, (cause: unknown) =>
      reject(new UnreadableAnswer('no_answer', own`the stream broke off`, { cause })),
    );
    void reading.finally(() => silence.removeEventListener('abort', stop)).catch(() => {});
  });
}

function fieldsOf(block: string): Map<string, string> {
  const lines = block.split('\n').filter((line) => line !== '' && !line.startsWith(':'));
  return new Map(
    lines.map((line) => {
      const [name = ''] = line.split(':', 1);
      return [name, line.slice(name.length + 1).replace(/^ /, '')];
    }),
  );
}

function readEvent(data: string): FollowedEvent {
  try {
    return eventIn.parse(parseJson(data));
  } catch (cause) {
    throw new UnreadableAnswer('unexpected', own`an event doesn’t fit the contract`, { cause });
  }
}
