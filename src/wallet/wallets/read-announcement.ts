import { isProvider, type Provider } from './provider.ts';

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
