/** An agent that had ended was removed from the disk. */
export interface CleanedRecord {
  type: 'cleaned';
  agent_id: string;
  /** What its folder held. */
  bytes: number;
  /** Null when a killed clean had begun it. */
  completed_at: string | null;
}
