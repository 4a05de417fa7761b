internal import CryptokiNames
internal import HostAPI

extension LocalKeychain {
    var cryptokiName: CryptokiTokenName { CryptokiTokenName(ofKeychain: name, identifier) }
    var cryptokiSlotName: CryptokiSlotName { CryptokiSlotName(ofKeychain: name, at: path) }
}
