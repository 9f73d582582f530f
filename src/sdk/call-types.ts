import type { BodyGiven, EndpointShape, ParamsGiven, QueryGiven, ResultOf } from '../contract/endpoint.ts';

/** Values of a path or a query go out as text, so numbers may be handed in where the contract asks for text. */
type Spelled<T> = T extends object ? { [K in keyof T]: string extends T[K] ? T[K] | number | bigint : T[K] } : T;

type Part<Name extends string, T> = [T] extends [undefined]
  ? unknown
  : Record<never, never> extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T };

type BodyPart<E extends EndpointShape> = E extends { body_optional: true }
  ? { body?: BodyGiven<E> }
  : Part<'body', BodyGiven<E>>;

export interface PaymentHeader {
  name: 'X-PAYMENT' | 'PAYMENT-SIGNATURE';
  value: string;
}

type PaymentPart<E extends EndpointShape> = E extends { payment: true }
  ? {
      payment?: PaymentHeader | undefined;
      /** Sent as X-Delivery-Token. */
      deliveryToken?: string | undefined;
    }
  : unknown;

type SlipPart<E extends EndpointShape> = E extends { payment: true } | { claim: true }
  ? {
      /** Sent as X-Recovery-Slip. */
      recoverySlip?: string | undefined;
    }
  : unknown;

/** A key that is staged belongs to one call, not to the client. */
type KeyPart<E extends EndpointShape> = E['auth'] extends 'staged_key' ? { key?: string } : unknown;

/** What a method of the client takes. */
export type Given<E extends EndpointShape> = Part<'params', Spelled<ParamsGiven<E>>> &
  Part<'query', Spelled<QueryGiven<E>>> &
  BodyPart<E> &
  PaymentPart<E> &
  SlipPart<E> &
  KeyPart<E> & { signal?: AbortSignal | undefined };

/** What it resolves to: every success by status. Refusals are thrown. */
export type Answered<E extends EndpointShape> = ResultOf<E> & { requestId: string | null };

/** The same as `Given`, as the untyped machinery beneath sees it. */
export interface LooseGiven {
  params?: Readonly<Record<string, unknown>>;
  query?: Readonly<Record<string, unknown>>;
  body?: unknown;
  payment?: PaymentHeader | undefined;
  deliveryToken?: string | undefined;
  recoverySlip?: string | undefined;
  key?: string;
  signal?: AbortSignal | undefined;
}
