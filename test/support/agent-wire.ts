import { META } from '../../src/contract/tools.ts';
import type { Environment } from '../../src/sdk/environment.ts';
import { watchText } from './canary.ts';

export interface Sent {
  url: string;
  headers: Headers;
  body: string;
}

/** What an agent sends and is sent, as it goes over the wire. */
export interface Wire {
  fetch: Environment['fetch'];
  sent: Sent[];
  /** Every answer, whole; resolves when all have come to their end. */
  received(): Promise<string[]>;
}

/** `cut` may lose an answer by throwing, after the market has begun with it. */
export function listenIn(cut: (sent: Sent) => Promise<void> = async () => {}): Wire {
  const sent: Sent[] = [];
  const answers: Promise<string>[] = [];
  return {
    sent,
    received: () => Promise.all(answers),
    fetch: async (url, init) => {
      const one = { url, headers: new Headers(init.headers), body: typeof init.body === 'string' ? init.body : '' };
      sent.push(one);
      const response = await fetch(url, init);
      try {
        await cut(one);
      } catch (error) {
        await response.body?.cancel();
        throw error;
      }
      watchText(`the headers of ${url}`, JSON.stringify([...response.headers]));
      answers.push(response.clone().text());
      return response;
    },
  };
}

/** Nonces of the proofs that went along, each once. */
export function noncesSent({ sent }: Pick<Wire, 'sent'>): Set<unknown> {
  return new Set(sent.filter(carriesProof).map(({ body }) => proofIn(body)?.payload?.authorization?.nonce));
}

export function carriesProof({ body }: Sent): boolean {
  return proofIn(body) !== undefined;
}

interface Proof {
  payload?: { authorization?: { nonce?: string } };
}

function proofIn(body: string): Proof | undefined {
  const message = JSON.parse(body === '' ? '{}' : body) as { params?: { _meta?: Record<string, Proof> } };
  return message.params?._meta?.[META.payment];
}
