import { SECRET_PREFIX, type SecretKind, secretAt, shortestSecret } from './secret-format.ts';

const BASE64 = /^[A-Za-z0-9+/_\-\r\n]+={0,2}[\r\n]*$/;

export interface SecretGuard {
  /** Nothing shorter holds a secret, decoded or not: such texts need not be taken apart. */
  shortest: number;
  /** Whether a secret with a right checksum stands anywhere in the text, also when the whole text is base64 of it. `own`: it is the place of that kind. */
  inText(text: string, own?: SecretKind): boolean;
  /** The same in every string and field name of a JSON value. Members called one of `except` at the top are the own place of one kind of secret. */
  inValue(value: unknown, except?: readonly string[]): boolean;
}

/** Which kind of secret alone a field of that name may hold, where it is named as a secret's own place. */
const OWN_KIND: Readonly<Record<string, SecretKind>> = { merchant_key: 'sk', recovery_code: 'rc', pairing_code: 'pc' };

/** Looks for merchant keys, recovery codes, pairing codes and delivery tokens of these prefixes (W1). Time is linear in the text. */
export function createSecretGuard(prefixes: readonly string[]): SecretGuard {
  const markers = prefixes.map((prefix) => {
    if (!SECRET_PREFIX.test(prefix)) throw new TypeError('a secret prefix is 2 to 16 of a-z and 0-9');
    // Any case, because codes are read in any case; secretAt is exact about keys.
    return { prefix, marker: new RegExp(`${prefix}_(sk|rc|pc|dt)_`, 'gi') };
  });

  const shortest = Math.min(...prefixes.map(shortestSecret));

  // Every request's headers come this way: most texts are done with after a look for the underscore.
  const inPlainText = (text: string, own?: SecretKind): boolean =>
    text.includes('_') &&
    markers.some(({ prefix, marker }) => {
      for (const found of text.matchAll(marker)) {
        const kind = (found[1] ?? '').toLowerCase() as SecretKind;
        if (kind !== own && secretAt(text, found.index, prefix, kind)) return true;
      }
      return false;
    });

  const search = (text: string, own?: SecretKind): boolean => {
    if (text.length < shortest) return false;
    if (inPlainText(text, own)) return true;
    if (!BASE64.test(text)) return false;
    return inPlainText(Buffer.from(text, 'base64').toString('latin1'), own);
  };
  const inText = (text: string, own?: SecretKind): boolean => search(text, own);

  const inValue = (value: unknown, except: readonly string[] = []): boolean => {
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return value.some((item) => inValue(item));
    if (typeof value !== 'object' || value === null) return false;
    return Object.entries(value).some(([name, member]) => {
      if (inText(name)) return true;
      if (!except.includes(name) || typeof member !== 'string') return inValue(member);
      const own = OWN_KIND[name];
      return own !== undefined && search(member, own);
    });
  };

  return { shortest, inText, inValue };
}

/** One search, where no guard is at hand. */
export function findSecret(text: string, prefixes: readonly string[]): boolean {
  return createSecretGuard(prefixes).inText(text);
}
