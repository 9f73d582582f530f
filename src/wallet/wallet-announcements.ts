import { isProvider, type Provider } from './wallet-provider.ts';

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

export interface FoundWallet {
  id: string;
  name: string;
  /** A picture that the wallet brought with it; null: none that may be shown. */
  icon: string | null;
  provider: Provider;
}

const LONGEST_NAME = 60;
const LONGEST_ICON = 200_000;
const ICON = /^data:image\/(?:png|svg\+xml|webp|jpeg|gif|avif)[;,]/;

/** What a wallet says of itself (EIP-6963). Any script may say anything: a name is text, and a picture is data or left out. */
export function readAnnouncement(detail: unknown): FoundWallet | null {
  if (typeof detail !== 'object' || detail === null || !('info' in detail) || !('provider' in detail)) return null;
  const { info, provider } = detail;
  if (typeof info !== 'object' || info === null || !isProvider(provider)) return null;
  const { uuid, name, icon } = info as Readonly<Record<string, unknown>>;
  if (typeof uuid !== 'string' || uuid === '' || typeof name !== 'string' || name.trim() === '') return null;
  const isShown = typeof icon === 'string' && icon.length <= LONGEST_ICON && ICON.test(icon);
  return { id: uuid, name: name.trim().slice(0, LONGEST_NAME), icon: isShown ? icon : null, provider };
}
