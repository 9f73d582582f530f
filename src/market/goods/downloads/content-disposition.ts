const OUTSIDE_OF_TOKEN = /[^A-Za-z0-9!#$&+.^_`|~-]/gu;
const OUTSIDE_OF_QUOTED = /[^\x20-\x7e]|["\\%/]/gu;

/** Builds Content-Disposition for a file to save (RFC 6266). Names with other characters are given twice, for old clients too. */
export function attachmentOf(filename: string): string {
  const plain = filename.replaceAll(OUTSIDE_OF_QUOTED, '_');
  const simple = `attachment; filename="${plain}"`;
  return plain === filename ? simple : `${simple}; filename*=UTF-8''${encodeExtended(filename)}`;
}

/** Percent-encodes what RFC 8187 does not allow as it is. */
function encodeExtended(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(OUTSIDE_OF_TOKEN, (character) =>
      [...Buffer.from(character)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );
}
