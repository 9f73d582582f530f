import { expect, it } from 'vitest';
import { heading, list, steps, text } from './document.ts';
import { escapeHtml, renderHtml } from './render-html.ts';
import { renderMarkdown } from './render-markdown.ts';

const NASTY = `<script>alert("1")</script> & 'x'`;
const SAFE = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;';

it('escapes everything, inside marks as well as outside of them', () => {
  expect(escapeHtml(NASTY)).toBe(SAFE);
  const html = renderHtml({
    title: NASTY,
    summary: NASTY,
    blocks: [heading(NASTY), text(`\`${NASTY}\` ${NASTY}`), list([NASTY]), steps([`[${NASTY}](/a"onclick="b)`])],
  });
  expect(html.match(/<script/g)).toBeNull();
  expect(html).toContain(`<p><code>${SAFE}</code> ${SAFE}</p>`);
  expect(html).toContain('<a href="/a&quot;onclick=&quot;b">');
});

it('renders the same content as markdown', () => {
  const blocks = [heading('Two'), text('Words with `code`.'), list(['a', 'b']), steps(['first', 'second'])];
  expect(renderMarkdown({ title: 'One', summary: 'In short.', blocks })).toBe(
    '# One\n\n> In short.\n\n## Two\n\nWords with `code`.\n\n- a\n- b\n\n1. first\n2. second\n',
  );
  const html = renderHtml({ title: 'One', summary: 'In short.', blocks });
  expect(html).toContain('<ol>\n<li>first</li>\n<li>second</li>\n</ol>');
});
