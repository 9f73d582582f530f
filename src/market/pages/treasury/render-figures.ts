import { html } from 'ghtml';

/** The numbers of a chart: the first cell of a row names it. Cells are HTML. */
export function renderFigures(caption: string, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  return html`<details class="figures">
<summary>${caption}</summary>
<table>
<caption class="heard">${caption}</caption>
<thead><tr>!${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
!${rows.map(renderRow)}</tbody>
</table>
</details>`;
}

function renderRow([name = '', ...cells]: readonly string[]): string {
  return html`<tr><th scope="row">!${name}</th>!${cells.map((cell) => html`<td>!${cell}</td>`)}</tr>
`;
}
