/** Why a client is not taken as it describes itself. The text is for the author of the description, and repeats none of it. */
export class ClientFault extends Error {
  override readonly name = 'ClientFault';
  /** As in RFC 7591. */
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata';

  constructor(code: ClientFault['code'], message: string) {
    super(message);
    this.code = code;
  }
}
