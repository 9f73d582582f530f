let made = 0;

/** A text of its own, of 120 words that no other one has. */
export function ownText(): string {
  made += 1;
  return Array.from({ length: 120 }, (_, at) => `w${made}x${at}`).join(' ');
}

/** Nearly the same: the last word is another, and it is set otherwise. Of 117 runs of five words in both together 115 are in each. */
export function nearText(text: string): string {
  made += 1;
  return [...text.toUpperCase().split(' ').slice(0, -1), `another${made}`].join('\n');
}
