/** The package `openaisle-sdk`: search a market, buy, sell, and check what was delivered. */

// The contract: endpoints, error table, vocabulary, amounts.
export type { BodyGiven, ParamsGiven, QueryGiven, ResultOf } from '../contract/endpoint.ts';
export { ERRORS, type ErrorRow, REASONS, type Reason } from '../contract/errors.ts';
export { type EndpointName, type Endpoints, endpoints } from '../contract/index.ts';
export type { Delivery, ListingDetail, ListingSummary } from '../contract/listings.ts';
export type { MerchantRecord } from '../contract/merchant-record.ts';
export { unitsOfUsdc, usdcOfUnits, usdcText } from '../contract/money.ts';
export type { PaymentOut } from '../contract/payments.ts';
export type { SearchReport } from '../contract/search-report.ts';
export {
  AISLES,
  type Aisle,
  API_VERSION,
  DEFAULT_NETWORK,
  EVENT_KINDS,
  type EventKind,
  LISTING_FEE_UNITS,
  MATCHES,
  type Match,
  NETWORKS,
  type Network,
  type NetworkName,
  type Scope,
  SORTS,
  type Sort,
} from '../contract/vocabulary.ts';
export type { WorldReceipt } from '../contract/world-records.ts';
// Clients of a market and of a city, with one method per endpoint.
export { type CityClient, createCityClient } from './city-client.ts';
export {
  type Answered,
  type Client,
  type ClientOf,
  type ClientOptions,
  createClient,
  type Given,
  type PaymentHeader,
} from './client.ts';
export type { Environment } from './environment.ts';
export { type AnyReason, MarketError, type ReadProblem, UnreadableAnswer, type WhyUnreadable } from './errors.ts';
// The live public log.
export { type FollowedEvent, type FollowOptions, followEvents } from './follow-events.ts';
// Goods of any size: uploads and downloads.
export type { ByteSource, Bytes } from './goods/byte-source.ts';
export type { DeliveredGoods, DownloadOptions, DownloadProgress } from './goods/download.ts';
export type { ByteSink } from './goods/sink.ts';
export { type Upload, UploadMismatch, type UploadOptions, type UploadProgress } from './goods/upload.ts';
export { type Collection, type Lie, type Page, PageRefused, type RawPage, readPages, rowsOf } from './page-cursor.ts';
// Whole collections, read page by page.
export {
  type EventFilters,
  type EventRecord,
  eventPages,
  type FeeRecord,
  merchantPages,
  type OwnListing,
  ownListingPages,
  type PurchaseRecord,
  purchasePages,
  type SaleRecord,
  type ShelfFilters,
  type ShelfPage,
  salePages,
  shelfPages,
  storePages,
  treasuryPages,
} from './pages.ts';
// Buying and listing by x402: the wallet signs, and the market's facilitator sends the transfer.
export { ArtifactMismatch, artifactBytes, commitmentOf } from './payments/artifact-commitment.ts';
export { type BuyOptions, buy } from './payments/buy.ts';
// Buying and listing by a plain USDC transfer that the wallet sends itself.
export { type BuyByTransferOptions, buyByTransfer } from './payments/direct/buy-by-transfer.ts';
export { type ListByTransferOptions, listByTransfer } from './payments/direct/list-by-transfer.ts';
export {
  TransferMayBeSent,
  TransferNotSent,
  TransferRefused,
  TransferUndecided,
} from './payments/direct/transfer-errors.ts';
export type {
  FindTransfer,
  OnTransferProgress,
  SoughtTransfer,
  TransferOptions,
  TransferPhase,
  TransferProgress,
  TransferWallet,
} from './payments/direct/transfer-options.ts';
export { createMemoryTransferStore, type SavedTransfer, type TransferStore } from './payments/direct/transfer-store.ts';
export { type FeeOptions, type ListedGoods, type ListGoodsOptions, listGoods } from './payments/list-goods.ts';
export { PaymentMayBeLost, TermsRefused, type WhyRefused } from './payments/payment-errors.ts';
export type { Authorization, AuthorizationToSign, PaymentProof, Wallet } from './payments/payment-proof.ts';
export type { X402Version } from './payments/payment-required.ts';
export {
  type OnProgress,
  type PaymentOptions,
  PaymentUndecided,
  type Progress,
  type ProgressPhase,
} from './payments/payment-run.ts';
export { createMemoryProofStore, type ProofStore, type SavedPayment } from './payments/proof-store.ts';
// City things.
export { buyThing } from './world/buy-thing.ts';
export { type ListedThing, type ListThingOptions, listThing } from './world/list-thing.ts';
export {
  type BuyThingOptions,
  createMemoryThingStore,
  type SavedThing,
  ThingMayBePaid,
  type ThingProgress,
  ThingRefused,
  type ThingStore,
  ThingUndecided,
} from './world/thing-options.ts';
