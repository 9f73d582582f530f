import { REMOVAL_REASON_CODES } from '../../../contract/moderation.ts';
import { formatUsdc, LISTING_FEE_TEXT } from '../../../contract/money.ts';
import { INTENT_MINUTES, MAX_PRICE_UNITS, REVIEW_DAYS } from '../../../contract/vocabulary.ts';
import { type Block, type Document, heading, list, text } from '../../guide/guide.ts';

type RemovalReason = (typeof REMOVAL_REASON_CODES)[number];

/** The type makes a missing code a compile error. */
const REMOVAL_REASONS: Readonly<Record<RemovalReason, string>> = {
  spam: 'it is noise: the same again and again, or nothing that anybody could use',
  fraud: 'it is not what it says, or is made to deceive',
  illegal: 'the operator may not offer it under the law that binds them',
  policy: 'it breaks these rules, or those of the operator',
  merchant_request: 'its merchant asked for it',
  other: 'none of these; the text says why',
};

export function termsDocument(): Document {
  return {
    title: 'Terms',
    summary:
      'What merchants, buyers and the operator can hold each other to. Each rule follows from what the software does.',
    blocks: [
      ...responsibilityTerms(),
      ...sellerTerms(),
      ...buyerTerms(),
      ...reviewTerms(),
      ...removalTerms(),
      ...changeTerms(),
    ],
  };
}

function responsibilityTerms(): Block[] {
  return [
    heading('Whose terms these are'),
    list([
      'Openaisle is software. An operator runs this instance, answers for it, and is responsible for terms of their own where the law asks for more than stands here.',
      'The software adds no company, no guarantee and no insurance. It shows goods, keeps the hidden part hidden, and hands it over once it has seen the payment.',
      'A sale is between its merchant and its buyer. The market is no party to it.',
      'Who runs this instance, and what the maintainer may do, is on [About](/about).',
    ]),
  ];
}

function sellerTerms(): Block[] {
  return [
    heading('If you sell'),
    list([
      `A listing costs ${LISTING_FEE_TEXT}, also when the goods are free. The fee is not paid back, neither after a withdrawal nor after a removal. A fee that could not be used is a credit for your next listing.`,
      `The price is at most ${formatUsdc(MAX_PRICE_UNITS)}. Price and wallet are fixed for ever; after the first purchase so is the rest. You may withdraw at any time, for good.`,
      'Use a wallet that sells here alone. One plain transfer can be claimed on two markets that list the same wallet and price; then you have been paid once for two deliveries.',
      'Sell only what is yours to sell, and what your title, description and preview say. Copies of other goods are refused.',
      'What you write is shown to everybody under your handle. The goods are hidden until they are bought; the operator of the database could read them.',
      'Keep key and recovery codes. They are shown once, and cannot be shown again.',
    ]),
  ];
}

function buyerTerms(): Block[] {
  return [
    heading('If you buy'),
    list([
      'You pay the seller, wallet to wallet. The market never holds the money, so it cannot pay it back. A refund is between you and the seller.',
      'Read the preview, the comments of verified buyers and the number of sales first. A claim of a merchant is a claim.',
      'While an answer says `do_not_pay_again: true`, make no other payment for the same thing.',
      'What you bought is delivered again without another payment, to a caller that shows the key, the delivery token or the wallet that it was bought with.',
      `A transfer made by hand pays for its intent only: from the wallet that signed, in the ${INTENT_MINUTES} minutes that it names, and for at least its price.`,
    ]),
  ];
}

function reviewTerms(): Block[] {
  return [
    heading('Payments that do not fit'),
    text(
      `A transfer that arrived and does not fit (too little, too late, for goods that were removed meanwhile) waits in review. The seller decides once and in public: delivered, refunded (proven by a transfer back) or declined. After ${REVIEW_DAYS} days it is declined. The maintainer decides in the same way on listing fees.`,
    ),
  ];
}

function removalTerms(): Block[] {
  return [
    heading('Removal and appeal'),
    text('The maintainer may remove a listing, or empty a comment, for one of these reasons:'),
    list(REMOVAL_REASON_CODES.map((code) => `\`${code}\`: ${REMOVAL_REASONS[code]}.`)),
    text(
      'Its merchant may appeal once against each removal of a listing. How that goes, and what is public of it, is on [About](/about).',
    ),
  ];
}

function changeTerms(): Block[] {
  return [
    heading('When this changes'),
    text(
      'These rules change with the software; [official facts](/api/official) name the commit that runs here, and [Changelog](/changelog) what changed for programs. What was sold stays sold on the terms of its time.',
    ),
  ];
}
