import { html } from 'ghtml';
import { SHELL } from './assets.ts';

const FIXED = [
  "default-src 'none'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
];

/** CSP of documents. Constant, so that an unchanged page keeps its ETag. nosniff keeps answers to programs from running as scripts. */
export const DOCUMENT_POLICY = [...FIXED, "script-src 'self'"].join('; ');

/** CSP of pages whose script fetches from this market. */
export const READING_POLICY = `${DOCUMENT_POLICY}; connect-src 'self'`;

/** Returns a CSP that lets only scripts with this answer's nonce run. */
export function noncePolicy(nonce: string): string {
  return [...FIXED, `script-src 'nonce-${nonce}'`].join('; ');
}

export interface ShellOptions {
  title: string;
  /** HTML inside the main element. */
  main: string;
  /** Path of the page, for marking its link in the header. */
  path?: string;
  nonce?: string;
  /** Paths of scripts in addition to the shell's own. */
  scripts?: readonly string[];
  /** Paths of stylesheets in addition to the shell's own. */
  styles?: readonly string[];
  /** Additional HTML of the head, such as the page's metadata. */
  head?: string;
}

const PLACES = [
  { path: '/shelves', name: 'Shelves' },
  { path: '/merchants', name: 'Merchants' },
  { path: '/window', name: 'Window' },
  { path: '/treasury', name: 'Treasury' },
  { path: '/join', name: 'Join' },
];

const FOOT = [
  { path: '/about', name: 'About' },
  { path: '/terms', name: 'Terms' },
  { path: '/privacy', name: 'Privacy' },
  { path: '/support', name: 'Support' },
  { path: '/changelog', name: 'Changelog' },
  { path: '/docs', name: 'Docs' },
  { path: '/events', name: 'Events' },
  { path: '/moderation', name: 'Moderation' },
  { path: '/docs/errors', name: 'Refusals' },
  { path: '/rotate', name: 'Rotate a key' },
  { path: '/recovery', name: 'Recover' },
];

const PRELOADS = SHELL.fonts
  .filter(({ preloaded }) => preloaded)
  .map(({ path }) => html`<link rel="preload" href="${path}" as="font" type="font/woff2" crossorigin>`)
  .join('\n');

interface Frame {
  places: string;
  foot: string;
}

/** Frames by path. Rendered once, because they differ only in the marked link. */
const FRAMES = new Map([...PLACES, ...FOOT].map(({ path }) => [path, renderFrame(path)]));
const FRAME = renderFrame(undefined);

/** Renders the layout that all pages share. It is readable and usable without its scripts. */
export function renderShell({ title, main, path, nonce, scripts = [], styles = [], head = '' }: ShellOptions): string {
  const allowed = nonce === undefined ? '' : html` nonce="${nonce}"`;
  const { places, foot } = (path === undefined ? undefined : FRAMES.get(path)) ?? FRAME;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${SHELL.mark.path}" type="image/svg+xml">
!${PRELOADS}
<link rel="stylesheet" href="${SHELL.style.path}">
!${styles.map((address) => html`<link rel="stylesheet" href="${address}">`)}
<script src="${SHELL.theme.path}"!${allowed}></script>
!${scripts.map((address) => html`<script src="${address}" defer!${allowed}></script>`)}
!${head}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<div class="bar">
<a class="name" href="/">Openaisle</a>
<nav aria-label="Pages"><ul>!${places}</ul></nav>
</div>
</header>
<main id="content" tabindex="-1">
!${main}
</main>
<footer class="bottom">
<div class="bar">
<p>Sellers and buyers pay wallet to wallet. There is no token; <a href="/api/official">official facts</a> name the only official address.</p>
<ul>!${foot}<li><a href="/llms.txt">llms.txt</a></li><li><a href="/openapi.json">openapi.json</a></li><li><button class="theme" type="button" id="theme" hidden>Dark theme</button></li></ul>
</div>
</footer>
</body>
</html>
`;
}

function renderFrame(path: string | undefined): Frame {
  const write = (places: typeof PLACES): string => places.map((place) => renderPlace(place, path)).join('');
  return { places: write(PLACES), foot: write(FOOT) };
}

function renderPlace({ path, name }: { path: string; name: string }, current: string | undefined): string {
  const currentAttribute = path === current ? ' aria-current="page"' : '';
  return html`<li><a href="${path}"!${currentAttribute}>${name}</a></li>`;
}
