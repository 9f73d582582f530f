const LONGEST = 100;
/** Windows takes these for devices, whatever follows the dot. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

const ENDINGS: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/csv': 'csv',
  'application/json': 'json',
};

/** A name that is a plain file on every system; what the merchant wrote is a wish. */
export function safeFileName(wished: string | null, listingId: number, mediaType: string): string {
  const [type = ''] = mediaType.split(';');
  const fallback = `openaisle-${listingId}.${ENDINGS[type] ?? 'bin'}`;
  const plain = (wished ?? '')
    .replaceAll(/[^A-Za-z0-9._ -]/g, '_')
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^[. _-]+/, '')
    .slice(0, LONGEST)
    .replace(/[. ]+$/, '');
  if (plain === '') return fallback;
  return DEVICES.test(plain) ? `file-${plain}` : plain;
}
