import { expect, it } from 'vitest';
import { HOSTILE_TEXTS } from '../../../test/support/hostile-texts.ts';
import { processorMs } from '../../../test/support/processor-time.ts';
import { type Piece, type Planned, planMarkdown } from './plan-markdown.ts';

function elementsOf(pieces: readonly Piece[]): Planned[] {
  return pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [piece, ...elementsOf(piece.children)]));
}

function textOf(pieces: readonly Piece[]): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : textOf(piece.children))).join('');
}

const plan = (text: string): Piece[] => {
  const pieces = planMarkdown(text);
  if (pieces === null) throw new Error('not planned');
  return pieces;
};

it('plans what people write', () => {
  const pieces = plan(`# Title

A *word*, **two**, ~~three~~ and \`code\`.

1. one
2. two

> said

| a | b |
|---|---|
| 1 | 2 |

\`\`\`js
let x = "<b>";
\`\`\`

- [x] done
`);
  const tags = elementsOf(pieces).map(({ tag }) => tag);
  for (const tag of ['h3', 'p', 'em', 'strong', 'del', 'code', 'ol', 'blockquote', 'table', 'th', 'td', 'pre', 'ul']) {
    expect(tags).toContain(tag);
  }
  expect(textOf(pieces)).toContain('let x = "<b>";');
  expect(textOf(pieces)).toContain('[x] done');
});

it('links lead to the web alone, and say where', () => {
  const pieces = plan(
    '[here](https://example.org/x) [there](javascript:alert(1)) ![p](https://evil.example/p.png) https://example.org/plain',
  );
  const links = elementsOf(pieces).filter(({ tag }) => tag === 'a');
  expect(links.map(({ href }) => href)).toEqual([
    'https://example.org/x',
    'https://evil.example/p.png',
    'https://example.org/plain',
  ]);
  expect(textOf(pieces)).toContain('here (example.org)');
  expect(textOf(pieces)).toContain('there (javascript:alert(1))');
  expect(textOf(pieces)).toContain('Picture: p');
});

it('HTML is text', () => {
  const pieces = plan('<script>alert(1)</script>\n\nA <img src=x onerror=alert(1)> b &lt;b&gt; &amp;lt;');
  expect(new Set(elementsOf(pieces).map(({ tag }) => tag))).toEqual(new Set(['p']));
  expect(textOf(pieces)).toContain('<script>alert(1)</script>');
  expect(textOf(pieces)).toContain('<img src=x onerror=alert(1)> b <b> &lt;');
});

it('keeps no attribute but an address and a number, and no tag that it does not know', () => {
  for (const text of [
    ...HOSTILE_TEXTS,
    HOSTILE_TEXTS.join('\n\n'),
    HOSTILE_TEXTS.map((one) => `- [${one}](${one})`).join('\n'),
  ]) {
    for (const made of elementsOf(planMarkdown(text) ?? [])) {
      expect(Object.keys(made).filter((key) => !['tag', 'children', 'href', 'start'].includes(key))).toEqual([]);
      expect(made.tag).toMatch(
        /^(?:p|h[3-6]|[uo]l|li|blockquote|pre|code|em|strong|del|a|[hb]r|table|thead|tbody|t[rhd])$/,
      );
      if (made.href !== undefined) expect(made.href).toMatch(/^https?:\/\/[!-~]+$/);
    }
  }
});

it.each([
  ['long', 'word '.repeat(20_000)],
  ['deep quotes', '> '.repeat(3_000)],
  ['quotes without end', '>'.repeat(20_000)],
  ['emphasis without end', '*a_'.repeat(15_000)],
  ['deep lists', Array.from({ length: 100 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n')],
  ['many cells', `${'|a'.repeat(9_000)}\n${'|-'.repeat(9_000)}\n${'|b'.repeat(9_000)}`],
])('%s: shown as it was written, without delay', (_, text) => {
  expect(processorMs(() => expect(planMarkdown(text)).toBeNull())).toBeLessThan(2_000);
});
