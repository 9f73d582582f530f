import { expect, it } from 'vitest';
import { heading, list, steps, text } from '../guide/guide.ts';
import { renderHtml, renderMarkdown } from './answer-document.ts';

const NASTY = `<script>alert("1")</script> & 'x'`;
const SAFE = '&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62; &#38; &#39;x&#39;';

it('escapes everything, inside marks as well as outside of them', () => {
  const html = renderHtml({
    title: NASTY,
    summary: NASTY,
    blocks: [heading(NASTY), text(`\`${NASTY}\` ${NASTY}`), list([NASTY]), steps([`[${NASTY}](/a"onclick="b)`])],
  });
  expect(html.match(/<script(?! src="\/assets\/theme-[0-9a-f]{16}\.js"><\/script>)/g)).toBeNull();
  expect(html).toContain(`<title>${SAFE}</title>`);
  expect(html).toContain(`<p><code>${SAFE}</code> ${SAFE}</p>`);
  expect(html).toContain('<a href="/a&#34;onclick&#61;&#34;b">');
});

it('renders the same content as markdown', () => {
  const blocks = [heading('Two'), text('Words with `code`.'), list(['a', 'b']), steps(['first', 'second'])];
  expect(renderMarkdown({ title: 'One', summary: 'In short.', blocks })).toBe(
    '# One\n\n> In short.\n\n## Two\n\nWords with `code`.\n\n- a\n- b\n\n1. first\n2. second\n',
  );
  const html = renderHtml({ title: 'One', summary: 'In short.', blocks });
  expect(html).toContain('<ol>\n<li>first</li>\n<li>second</li>\n</ol>');
});
