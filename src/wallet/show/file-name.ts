const LONGEST_NAME = 100;
/** Windows treats these names as devices, with any extension. */
const DEVICE_NAMES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

const ENDINGS: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'application/json': 'json',
};

/** Returns a file name that is safe on every system, based on the one that the merchant chose. */
export function safeFileName(preferredName: string | null, listingId: number, mediaType: string): string {
  const [type = ''] = mediaType.split(';');
  const fallback = `openaisle-${listingId}.${ENDINGS[type] ?? 'bin'}`;
  const plain = (preferredName ?? '')
    .replaceAll(/[^A-Za-z0-9._ -]/g, '_')
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^[. _-]+/, '')
    .slice(0, LONGEST_NAME)
    .replace(/[. ]+$/, '');
  if (plain === '') return fallback;
  return DEVICE_NAMES.test(plain) ? `file-${plain}` : plain;
}
