import { isProvider } from './provider.ts';
import { type FoundWallet, readAnnouncement } from './read-announcement.ts';

const MOST = 20;
/** How long wallets have to announce themselves before an unnamed one is taken. */
const LAST_RESORT_MS = 400;

export interface WatchedWallets {
  found(): readonly FoundWallet[];
  /** Looked for long enough to say that there is none. */
  isSettled(): boolean;
  onChange(listener: () => void): void;
}

/** Wallets of this browser as they announce themselves; where none does, the one that older wallets leave on the window. */
export function watchWallets(): WatchedWallets {
  const wallets: FoundWallet[] = [];
  let isSettled = false;
  let listener = (): void => {};
  window.addEventListener('eip6963:announceProvider', (event) => {
    const wallet = readAnnouncement((event as CustomEvent<unknown>).detail);
    if (wallet === null || wallets.length >= MOST || wallets.some(({ id }) => id === wallet.id)) return;
    wallets.push(wallet);
    listener();
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  setTimeout(() => {
    const { ethereum } = window as { ethereum?: unknown };
    isSettled = true;
    if (wallets.length === 0 && isProvider(ethereum)) {
      wallets.push({ id: 'window.ethereum', name: 'Wallet of this browser', icon: null, provider: ethereum });
    }
    listener();
  }, LAST_RESORT_MS);
  return {
    found: () => wallets,
    isSettled: () => isSettled,
    onChange: (next) => {
      listener = next;
    },
  };
}
