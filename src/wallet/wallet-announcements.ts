import { isProvider, type Provider } from './wallet-provider.ts';

const MAX_WALLETS = 20;
/** Time for wallets to announce themselves before window.ethereum is offered. */
const SEARCH_MS = 400;

export interface WatchedWallets {
  list(): readonly FoundWallet[];
  /** Whether enough time has passed to say that there is no wallet. */
  hasSearched(): boolean;
  onChange(listener: () => void): void;
}

/** Collects wallets that announce themselves. If none does, uses window.ethereum, which older wallets set. */
export function watchWallets(): WatchedWallets {
  const wallets: FoundWallet[] = [];
  let hasSearched = false;
  let listener = (): void => {};
  window.addEventListener('eip6963:announceProvider', (event) => {
    const wallet = readAnnouncement((event as CustomEvent<unknown>).detail);
    if (wallet === null || wallets.length >= MAX_WALLETS || wallets.some(({ id }) => id === wallet.id)) return;
    wallets.push(wallet);
    listener();
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  setTimeout(() => {
    const { ethereum } = window as { ethereum?: unknown };
    hasSearched = true;
    if (wallets.length === 0 && isProvider(ethereum)) {
      wallets.push({ id: 'window.ethereum', name: 'Wallet of this browser', icon: null, provider: ethereum });
    }
    listener();
  }, SEARCH_MS);
  return {
    list: () => wallets,
    hasSearched: () => hasSearched,
    onChange: (next) => {
      listener = next;
    },
  };
}

export interface FoundWallet {
  id: string;
  name: string;
  /** Data URL from the wallet. Null if it has none that may be shown. */
  icon: string | null;
  provider: Provider;
}

const LONGEST_NAME = 60;
const LONGEST_ICON = 200_000;
const ICON = /^data:image\/(?:png|svg\+xml|webp|jpeg|gif|avif)[;,]/;

/** Parses a wallet's announcement (EIP-6963). Any script can send one, so only text and data URLs are accepted. */
export function readAnnouncement(detail: unknown): FoundWallet | null {
  if (typeof detail !== 'object' || detail === null || !('info' in detail) || !('provider' in detail)) return null;
  const { info, provider } = detail;
  if (typeof info !== 'object' || info === null || !isProvider(provider)) return null;
  const { uuid, name, icon } = info as Readonly<Record<string, unknown>>;
  if (typeof uuid !== 'string' || uuid === '' || typeof name !== 'string' || name.trim() === '') return null;
  const isShown = typeof icon === 'string' && icon.length <= LONGEST_ICON && ICON.test(icon);
  return { id: uuid, name: name.trim().slice(0, LONGEST_NAME), icon: isShown ? icon : null, provider };
}
