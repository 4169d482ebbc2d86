/** A member as its caller asks for it. */
export interface MemberRequest {
  roleId: string;
  task: string;
  cwd?: string | undefined;
  /** In stateful mode: the chat that goes on; null or empty begins one. */
  chatId?: string | null | undefined;
}

export interface SquadRequest {
  members: MemberRequest[];
  metadata?: Record<string, unknown> | undefined;
}
