/** What a hosted client may be allowed. */
export const TOKEN_SCOPES = ['market:read', 'market:me', 'market:write'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];
/** For who asks for none. */
export const DEFAULT_TOKEN_SCOPES = ['market:read', 'market:me'] as const satisfies readonly TokenScope[];
