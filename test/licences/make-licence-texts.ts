import { createRequire } from 'node:module';
import { shinglesOf } from '../../src/market/listings/near/shingles.ts';

/** SPDX identifiers of the licences most common in open code and text, whether in a file header or in a file of their own. */
export const LICENCES = [
  ...[
    '0BSD',
    'AFL-3.0',
    'AGPL-3.0-only',
    'Apache-2.0',
    'Artistic-2.0',
    'BlueOak-1.0.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
  ],
  ...['BSD-4-Clause', 'BSL-1.0', 'BUSL-1.1', 'CC-BY-4.0', 'CC-BY-NC-4.0', 'CC-BY-ND-4.0', 'CC-BY-SA-4.0', 'CC0-1.0'],
  ...['CDDL-1.0', 'ECL-2.0', 'Elastic-2.0', 'EPL-2.0', 'EUPL-1.2', 'GFDL-1.3-only', 'GPL-2.0-only', 'GPL-3.0-only'],
  ...['ISC', 'LGPL-2.1-only', 'LGPL-3.0-only', 'MIT', 'MIT-0', 'MPL-2.0', 'MS-PL', 'NCSA', 'OFL-1.1', 'PostgreSQL'],
  ...['PSF-2.0', 'SSPL-1.0', 'Unlicense', 'UPL-1.0', 'WTFPL', 'X11', 'Zlib'],
] as const;

export interface Licence {
  licenseText: string;
  standardLicenseHeader?: string;
}

export function readLicences(): Record<string, Licence> {
  return createRequire(import.meta.url)('spdx-license-list/full') as Record<string, Licence>;
}

/** Returns the sorted hashes, four bytes each, of all word runs in these texts and in the notices that their authors propose. */
export function makeLicenceTexts(): Buffer {
  const all = readLicences();
  const hashes = new Set<number>();
  for (const name of LICENCES) {
    const licence = all[name];
    if (licence === undefined) throw new Error(`the SPDX list has no ${name}`);
    for (const text of [licence.licenseText, licence.standardLicenseHeader ?? ''])
      for (const hash of text === '' ? [] : shinglesOf(text)) hashes.add(hash);
  }
  const sorted = Uint32Array.from(hashes).sort();
  const bytes = Buffer.alloc(4 * sorted.length);
  for (const [at, hash] of sorted.entries()) bytes.writeUInt32LE(hash, 4 * at);
  return bytes;
}
