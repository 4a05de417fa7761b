package import CryptokiNames
internal import HostAPI

extension LocalKeychain {
    package var cryptokiName: CryptokiTokenName { CryptokiTokenName(ofKeychain: name, identifier) }
    package var cryptokiSlotName: CryptokiSlotName { CryptokiSlotName(ofKeychain: name, at: path) }
}
