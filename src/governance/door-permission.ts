// Permissions for what is not a call: resources, calls of others, approvals, stops, tokens, evidence.
export { DOOR_PERMISSIONS, type DoorPermission } from '../resource/permission.ts'
