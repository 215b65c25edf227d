/** Who did it and why: every administrative act says so, and the store keeps it. */
export interface Act {
  /** 1 to 255 bytes of UTF-8 without control characters: a person, a ticket, a program. */
  readonly by: string;
  /** 1 to 1,024 bytes of UTF-8 without control characters. */
  readonly reason: string;
}

export interface RevokeRequest extends Act {
  /** The term that is meant: nothing is done if another stands there. Default: whichever does. */
  readonly term?: number;
  /** The holder id that alone may acquire next, during `reserveMs` after the term has ended. */
  readonly to?: string;
  /** 1 ms to 24 h. Needed with `to`. */
  readonly reserveMs?: number;
}

/** The longest `by` and `reason`, in UTF-8 bytes. */
export const longestByBytes = 255;
export const longestReasonBytes = 1024;
