const REMOVED = '[removed]';
const LONGEST_SEARCHED = 65_536;

const HEADER_NAMES =
  'proxy-authorization|authorization|x-payment-response|x-payment|payment-signature|x-delivery-token|delivery_token|cookie';

/** What looks like a secret, right checksum or not. Each pattern takes linear time: no repetition within a repetition. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  [
    new RegExp(`\\b(${HEADER_NAMES})(["']?\\s{0,8}[:=]\\s{0,8}["']?)(?:(?:Bearer|Basic)\\s{1,8})?[^\\s"',;}]+`, 'gi'),
    `$1$2${REMOVED}`,
  ],
  [/\b(Bearer|Basic)\s{1,8}[^\s"',;}]+/gi, `$1 ${REMOVED}`],
  [/[a-z][a-z0-9]{1,15}_(?:sk|rc|pc|dt)_[0-9a-z-]+/gi, REMOVED],
  // The password of a connection URL.
  [/:\/\/[^\s/@]{1,512}@/g, `://${REMOVED}@`],
  // A payment header is base64 of JSON; its beginning gives it away.
  [/eyJ[A-Za-z0-9+/_-]{16,}={0,2}/g, REMOVED],
  // A signature has 65 bytes, or 64 in the compact form; hashes, keys of rows and addresses are shorter.
  [/(?:0x)?[0-9a-fA-F]{128,}/g, REMOVED],
  [/[A-Za-z0-9+_-]{120,}={0,2}/g, REMOVED],
];

// Beyond JSON's own escapes: what some readers of logs take for a line end or a command to the terminal.
const UNSEEN = /[\u007f-\u009f\u2028\u2029]/g;

// Most of what a line carries. Each of the patterns needs one of what is missing here, or more of it.
const PLAIN = /^(?!.*eyJ)[A-Za-z0-9./-]{0,119}$/;

/** Text for a log line: without anything that opens a store, moves money or breaks the line. */
export function redact(text: string): string {
  if (PLAIN.test(text)) return text;
  return SECRETS.reduce((rest, [pattern, by]) => rest.replace(pattern, by), text.slice(0, LONGEST_SEARCHED)).replace(
    UNSEEN,
    '\ufffd',
  );
}
