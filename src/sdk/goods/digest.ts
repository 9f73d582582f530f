import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, type Hex, hexToBytes } from 'viem';

/** A SHA-256 that takes its input in parts, so that no goods need to be in memory. */
export interface Digest {
  add(bytes: Uint8Array): void;
  /** Ends the digest. */
  toHex(): Hex;
}

export function createDigest(): Digest {
  const hash = sha256.create();
  return {
    add: (bytes) => {
      hash.update(bytes);
    },
    toHex: () => bytesToHex(hash.digest()),
  };
}

/** Begins the digest that ends as the commitment: the salt comes before the goods. */
export function createCommitmentDigest(salt: string): Digest {
  const digest = createDigest();
  digest.add(hexToBytes(salt as Hex));
  return digest;
}

/** Returns the SHA-256 of a part, as `Upload-Checksum` wants it before base64. */
export function checksumOf(bytes: Uint8Array): Uint8Array {
  return sha256(bytes);
}
