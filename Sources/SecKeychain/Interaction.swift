public import CSecKeychain
internal import KeychainCalls

@c
public func SecKeychainSetUserInteractionAllowed(_ state: UInt8) -> OSStatus {
    Library.caller.interaction.isAllowed = state != 0
    return OSStatus(errSecSuccess)
}

@c
public func SecKeychainGetUserInteractionAllowed(_ state: UnsafeMutablePointer<UInt8>?) -> OSStatus {
    guard let state = unsafe state else { return OSStatus(errSecParam) }
    unsafe state.pointee = Library.caller.interaction.isAllowed ? 1 : 0
    return OSStatus(errSecSuccess)
}
