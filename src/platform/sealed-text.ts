import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const FORM = /^[A-Za-z0-9_-]+$/;

/**
 * Text that only its maker can read or make: AES-256-GCM, as base64url. Keys have 32 bytes. The nonce is made of the text, so that the
 * same text is sealed the same each time, and another one never with the same nonce.
 */
export function sealText(key: Uint8Array, text: string): string {
  const nonce = createHmac('sha256', key).update(text, 'utf8').digest().subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
}

/** The text that was sealed with one of the keys; null for anything else. */
export function openSealed(keys: readonly Uint8Array[], sealed: string): string | null {
  const bytes = Buffer.from(FORM.test(sealed) ? sealed : '', 'base64url');
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
  const content = bytes.subarray(NONCE_BYTES, -TAG_BYTES);
  for (const key of keys) {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      return Buffer.concat([decipher.update(content), decipher.final()]).toString('utf8');
    } catch {
      // Sealed with another key, or never sealed.
    }
  }
  return null;
}
