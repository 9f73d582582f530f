import { point } from './letters.ts';

/** Addresses that run something, or that lead elsewhere than they say. */

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

/** Each as it stands, in HTML and in Markdown. */
export const SCRIPT_LINKS: readonly string[] = SCHEMES.flatMap((address) => [
  `see ${address} now`,
  `<a href="${address}">click</a>`,
  `[click](${address})`,
]);

export const MARKDOWN: readonly string[] = [
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

/** The page links plain addresses of the web. None of these may lead to another place than its letters say, or carry more than an address. */
export const FOREIGN_ADDRESSES: readonly string[] = [
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
