import { type Hex, isAddressEqual, recoverTypedDataAddress, sha256, stringToBytes } from 'viem';
import type { PurchasesManifest } from './export-format.ts';

export interface ExportSigner {
  readonly address: Hex;
  /** Signs `exportToSign` for this wallet and the digest. */
  signExport(digest: Hex): Promise<Hex>;
}

/** No token or market uses this domain, so the signature is good for nothing else. */
const DOMAIN = { name: 'Openaisle export', version: '1' } as const;
const TYPES = {
  Export: [
    { name: 'statement', type: 'string' },
    { name: 'wallet', type: 'address' },
    { name: 'digest', type: 'bytes32' },
  ],
} as const;
const STATEMENT = 'These are records of what this wallet bought. This moves no money and collects nothing.';

export function exportToSign(wallet: Hex, digest: Hex) {
  const message = { statement: STATEMENT, wallet, digest };
  return { domain: DOMAIN, types: TYPES, primaryType: 'Export', message } as const;
}

/** SHA-256 over a manifest without its signature; includes the digests of all files. */
export function digestOfManifest({ kind, version, wallet, begun_at, completed_at, files }: PurchasesManifest): Hex {
  const sorted = Object.entries(files).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return sha256(stringToBytes(JSON.stringify([kind, version, wallet, begun_at, completed_at, sorted])));
}

export async function isSignedByWallet(content: PurchasesManifest): Promise<boolean> {
  if (content.signature === null) return false;
  const wallet = content.wallet as Hex;
  const signature = content.signature as Hex;
  try {
    const signer = await recoverTypedDataAddress({ ...exportToSign(wallet, digestOfManifest(content)), signature });
    return isAddressEqual(signer, wallet);
  } catch {
    // The signature isn't a point on the curve, or the wallet isn't an address.
    return false;
  }
}
