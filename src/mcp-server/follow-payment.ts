import type { ServerContext } from '@modelcontextprotocol/server';
import type { Environment } from '../sdk/environment.ts';
import type { OnProgress } from '../sdk/payments/payment-run.ts';
import type { ToolContext } from './tool-context.ts';

const EVERY_MS = 3_000;
/** What one request of the market may take longer than the patience before it is broken off: the book goes on from there. */
const GRACE_MS = 8_000;

/** What a payment takes from the call that makes it. */
export interface Follow {
  onProgress: OnProgress;
  signal: AbortSignal;
  maxWaitSeconds: number;
}

/**
 * Does work that may wait for a chain, and tells the host every few seconds how far it is, so that the host goes on waiting. It ends
 * when the caller gives up, and soon after the patience is over.
 */
export async function followPayment<T>(
  tools: Pick<ToolContext, 'client' | 'sayProgress' | 'patienceSeconds' | 'clean'>,
  { mcpReq }: Pick<ServerContext, 'mcpReq'>,
  work: (follow: Follow) => Promise<T>,
): Promise<T> {
  const { environment } = tools.client;
  const done = new AbortController();
  let [progress, message] = [0, 'looking at it'];
  const tell = (): void => {
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    progress += 1;
    const params = { progressToken, progress, message: tools.clean(message) };
    // A host that is gone ends the call by its signal.
    void mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  const ticking = tick(environment, tell, done.signal);
  try {
    return await work({
      onProgress: (told) => {
        const said = tools.sayProgress(told) ?? message;
        if (said === message) return;
        message = said;
        tell();
      },
      signal: AbortSignal.any([mcpReq.signal, environment.deadline(tools.patienceSeconds * 1_000 + GRACE_MS)]),
      maxWaitSeconds: tools.patienceSeconds,
    });
  } finally {
    done.abort();
    await ticking;
  }
}

async function tick({ sleep }: Pick<Environment, 'sleep'>, tell: () => void, until: AbortSignal): Promise<void> {
  for (;;) {
    const isOver = await sleep(EVERY_MS, until).then(
      () => false,
      () => true,
    );
    if (isOver || until.aborted) return;
    tell();
  }
}
