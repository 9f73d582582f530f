import { Refusal } from '../../../platform/refusal.ts';

const MOST = 4_000;
const MOST_PER_NETWORK = 100;
const FULL_RETRY_SECONDS = 30;

export interface PlacesOptions {
  most?: number;
  mostPerNetwork?: number;
}

/** How many may listen, in all and from one network. Refuses, or gives what gives the place back. */
export function createPlaces({ most = MOST, mostPerNetwork = MOST_PER_NETWORK }: PlacesOptions) {
  const byNetwork = new Map<string, number>();
  let taken = 0;
  return (network: string): (() => void) => {
    const own = byNetwork.get(network) ?? 0;
    if (own >= mostPerNetwork) {
      throw new Refusal('rate_limited', {
        detail: `From one network ${mostPerNetwork} streams may be open.`,
        retryAfterSeconds: FULL_RETRY_SECONDS,
      });
    }
    if (taken >= most) {
      throw new Refusal('unavailable', {
        detail: 'As many streams are open as the server can take.',
        retryAfterSeconds: FULL_RETRY_SECONDS,
      });
    }
    taken += 1;
    byNetwork.set(network, own + 1);
    return () => {
      taken -= 1;
      const left = (byNetwork.get(network) ?? 0) - 1;
      if (left > 0) byNetwork.set(network, left);
      else byNetwork.delete(network);
    };
  };
}
