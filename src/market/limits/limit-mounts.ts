import type { Budget } from '../../platform/budget.ts';
import type { AnyPageRoute, Mount, PageCall } from '../../platform/http/server-options.ts';

/** What the answers of mounts cost beyond the operations that they ask, in milliseconds of the processor. */
export const MOUNT_MS = {
  /** Reading rows, making a page of them. */
  page: 3,
  /** Drawing and packing an image. */
  picture: 40,
  /** Checking and wrapping a message. */
  message: 3,
};

/** Takes that out of the budget of the network that asks, before anything is done. */
export function limitMounts(readMs: Budget, cost: number, mounts: readonly Mount[]): Mount[] {
  return mounts.map((mount) => ({
    ...mount,
    answer: async (incoming) => {
      readMs.take({ network: incoming.clientNetwork }, cost);
      return await mount.answer(incoming);
    },
  }));
}

const PROBE = '/readyz';
/** The heads of the chain, as a probe looks at them. */
const PROBE_READS = 3;

/** A probe reads the chain as well. It is counted with its own network alone: what strangers use up must not stop the probes of others. */
export function limitProbes(chainReads: Budget, pages: readonly AnyPageRoute[]): AnyPageRoute[] {
  return pages.map((page) => {
    if (page.method !== 'GET' || page.path !== PROBE) return page;
    return {
      ...page,
      handler: (call: PageCall) => {
        chainReads.takeOwn({ network: call.clientNetwork }, PROBE_READS);
        return page.handler(call);
      },
    };
  });
}
