import { ATTRIBUTE_NAMES, ATTRIBUTES } from '../../contract/listing-fields.ts';
import type { Delivery } from '../../contract/listings.ts';
import { artifactBytes } from '../../sdk/payments/artifact-commitment.ts';
import { button, type Child, element, paragraph, renderVisibleText } from './element.ts';
import { safeFileName } from './file-name.ts';
import { type Piece, planMarkdown } from './plan-markdown.ts';
import { saveLink, showFile } from './show-file.ts';
import type { GoodsView } from './view.ts';

/** Shows the goods, and evidence that they are the promised ones. Their content is shown, never run. */
export function showGoods(view: GoodsView): Child[] {
  const { delivery, record, published, computed, forget } = view;
  const isMismatch = computed !== null && published !== computed;
  return [
    !isMismatch
      ? null
      : element(
          'div',
          { class: 'notice danger' },
          paragraph(
            'These are not the goods that the listing promised. Keep them: with their salt they prove it. Write to the support of this market.',
          ),
        ),
    ...(delivery.artifact === null ? showFile(view) : showText({ ...delivery, artifact: delivery.artifact })),
    ...showAttributes(delivery),
    element('h3', {}, 'Evidence'),
    element(
      'dl',
      { class: 'facts evidence' },
      element('dt', {}, 'Promised'),
      element('dd', {}, element('code', { id: 'promised' }, published)),
      element('dt', {}, 'Computed here'),
      element('dd', {}, element('code', { id: 'computed' }, computed ?? 'not yet')),
      element('dt', {}, 'Salt'),
      element('dd', {}, element('code', {}, delivery.artifact_salt)),
      element('dt', {}, 'Commitment'),
      element(
        'dd',
        { id: 'matches', class: computed === null ? 'quiet' : isMismatch ? 'mismatch' : 'verified' },
        computed === null ? 'checked while the file is saved' : isMismatch ? 'does not match' : 'matches',
      ),
    ),
    // Without a match, offer no button that would delete the evidence of a broken promise.
    ...(isMismatch ? [] : showForget(forget, record !== null && record.payer !== null)),
  ];
}

function showAttributes(delivery: Delivery): Child[] {
  const said = ATTRIBUTE_NAMES.flatMap((name) =>
    delivery[name] === null
      ? []
      : [
          element('dt', {}, ATTRIBUTES[name].label),
          element('dd', {}, element('code', {}, ...renderVisibleText(delivery[name]))),
        ],
  );
  return said.length === 0 ? [] : [element('dl', { class: 'facts', id: 'said' }, ...said)];
}

function showForget(forget: () => void, isPaid: boolean): Child[] {
  const words = isPaid
    ? 'What is needed to show the goods again is kept here until you say otherwise. On a computer that others use, save the file and forget the purchase. The wallet that paid can collect again by a signature at any time.'
    : 'That you got these goods is noted here, so that this page shows them again, until you say otherwise.';
  return [
    element('h3', {}, 'Kept in this browser'),
    paragraph(words),
    element('div', { class: 'row' }, button('Forget this purchase', forget, { id: 'forget' })),
  ];
}

type TextGoods = Delivery & { artifact: string };

function showText(delivery: TextGoods): Child[] {
  return [showArtifact(delivery), element('div', { class: 'row' }, showDownload(delivery))];
}

function isText({ artifact_media_type: type, artifact_encoding }: Delivery): boolean {
  return (
    artifact_encoding === 'utf-8' &&
    /^(?:text\/|application\/(?:json|xml|yaml|toml|javascript|sql|[a-z.-]+\+(?:json|xml)))/.test(type)
  );
}

function showArtifact(delivery: TextGoods): HTMLElement {
  if (!isText(delivery)) {
    return element(
      'p',
      { class: 'quiet' },
      `This is a file of the type ${delivery.artifact_media_type}. It is not shown here; save it.`,
    );
  }
  const plain = (): HTMLElement =>
    element(
      'pre',
      { class: 'artifact', tabindex: 0, role: 'region', 'aria-label': 'The goods', dir: 'auto' },
      ...renderVisibleText(delivery.artifact),
    );
  const pieces = /^text\/markdown\b/.test(delivery.artifact_media_type) ? planMarkdown(delivery.artifact) : null;
  if (pieces === null) return plain();
  const asWritten = element('details', { class: 'whole' }, element('summary', {}, 'As it was written'), plain());
  return element(
    'div',
    {},
    element('article', { class: 'artifact markdown', 'aria-label': 'The goods', dir: 'auto' }, ...buildPieces(pieces)),
    asWritten,
  );
}

/** Offers the bytes without a media type, so that no program opens them automatically. */
function showDownload(delivery: Delivery): HTMLElement {
  const name = safeFileName(delivery.artifact_filename, delivery.listing_id, delivery.artifact_media_type);
  const bytes = new Uint8Array(artifactBytes(delivery));
  const address = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  return saveLink(address, name);
}

/** Builds DOM nodes from parsed Markdown: elements by tag, and everything else as text. */
function buildPieces(pieces: readonly Piece[]): Node[] {
  return pieces.flatMap((piece) => {
    if (typeof piece === 'string') return renderVisibleText(piece);
    const { tag, href, start, children } = piece;
    const link = href === undefined ? {} : { href, rel: 'nofollow ugc noopener' };
    const first = start === undefined ? {} : { start };
    const focus = tag === 'pre' ? { tabindex: 0 } : {};
    const made = element(tag, { ...link, ...first, ...focus }, ...buildPieces(children));
    // A wide table scrolls inside its own box, so that the page keeps its width.
    return tag === 'table'
      ? [element('div', { class: 'scrolls', tabindex: 0, role: 'region', 'aria-label': 'Table' }, made)]
      : [made];
  });
}
